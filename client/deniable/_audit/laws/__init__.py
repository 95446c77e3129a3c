"""The laws of values under the installed randomizers, and how far they are apart."""

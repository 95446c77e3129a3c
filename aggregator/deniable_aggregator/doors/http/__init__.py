"""The JSON interface over HTTP."""

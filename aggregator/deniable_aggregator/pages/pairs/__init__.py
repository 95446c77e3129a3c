"""The part of a page about attributes: which go together, and which exclude each other."""

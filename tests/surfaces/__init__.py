"""One answer on every surface: the same numbers, in the same words, as sure as computed."""

"""One file for each revision, named for it."""

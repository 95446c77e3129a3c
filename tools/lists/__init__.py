"""Makes the lists of values that are shipped, from pinned packages."""

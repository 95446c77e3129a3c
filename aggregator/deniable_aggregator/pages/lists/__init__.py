"""The page of saved lists of values."""

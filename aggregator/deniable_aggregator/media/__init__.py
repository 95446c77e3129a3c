"""Documents and figures, drawn for those who read them: a medium decides nothing but its layout."""

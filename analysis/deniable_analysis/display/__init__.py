"""How results look in a notebook and on a terminal."""

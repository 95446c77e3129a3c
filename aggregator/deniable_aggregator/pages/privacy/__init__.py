"""What devices give away, what is kept of it, and how to check that."""

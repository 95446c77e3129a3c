"""Media: what is said of an answer as text, pages and rows. They draw, and word nothing."""

"""Reading and writing each table."""

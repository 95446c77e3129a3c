"""How bytes reach a server."""

"""How the server is doing, for whoever runs it."""

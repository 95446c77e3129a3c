"""Doors: who asks, and in what manner: commands, HTTP, pages, and the server that listens."""

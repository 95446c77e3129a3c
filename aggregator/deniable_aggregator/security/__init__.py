"""Keys: made, verified and administered."""

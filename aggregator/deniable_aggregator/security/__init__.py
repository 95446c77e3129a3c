"""Keys: how they are made, verified and administered."""

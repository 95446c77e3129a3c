"""Settings of the server: what they mean, where they come from, and what they must be."""

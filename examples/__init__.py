"""Small programs that use the client, one of each kind; see docs/client/recipes.md."""

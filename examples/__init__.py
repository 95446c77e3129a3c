"""Small programs that embed the client, one of each kind; see docs/client/recipes.md."""

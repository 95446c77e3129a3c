"""Small programs that embed the client, one for each kind of program; see docs/recipes.md."""

"""The first page: a card for each metric."""

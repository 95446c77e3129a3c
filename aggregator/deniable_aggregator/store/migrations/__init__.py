"""Revisions of the schema, for Alembic: they are added and never changed."""

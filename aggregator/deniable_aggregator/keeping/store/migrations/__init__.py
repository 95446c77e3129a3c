"""Revisions of the schema, for Alembic. A released revision never changes."""

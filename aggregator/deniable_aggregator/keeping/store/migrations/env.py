"""Alembic's entry: runs the missing revisions in the transaction that it is given."""

from __future__ import annotations

from alembic import context

from deniable_aggregator.keeping.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # SQLite too, as transactions begin explicitly here
)
with context.begin_transaction():
    context.run_migrations()

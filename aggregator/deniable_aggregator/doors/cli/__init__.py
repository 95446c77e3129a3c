"""The aggregator's commands; deniable_shared.commands.table lists them."""

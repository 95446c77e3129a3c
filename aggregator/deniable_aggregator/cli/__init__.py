"""The aggregator's commands: a file for each; deniable_shared.commands.table lists them."""

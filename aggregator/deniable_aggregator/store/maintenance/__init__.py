"""Migrations, backups and transfers of whole stores."""

"""Uploads: checked, and committed to the inbox of the store."""

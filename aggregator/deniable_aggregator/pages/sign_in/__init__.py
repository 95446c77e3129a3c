"""Signing in with a token, and signing out."""

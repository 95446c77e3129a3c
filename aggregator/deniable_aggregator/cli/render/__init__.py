"""Answers as tables and text."""

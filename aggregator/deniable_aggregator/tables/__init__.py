"""Answers as one long table: a row for each number, with its interval and what it is about."""

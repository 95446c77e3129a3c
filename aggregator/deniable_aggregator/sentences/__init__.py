"""Answers in plain sentences, the same for commands, pages, notebooks and reports."""

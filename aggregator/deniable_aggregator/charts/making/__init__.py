"""Answers to figures."""

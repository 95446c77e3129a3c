"""Leaving the reports of a key out of all answers, and taking them back."""

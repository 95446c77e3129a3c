"""Draws the pictures of ``docs/concepts``: ``python -m tools.concepts``.

Every number in them comes from the shipped mechanisms and planner, or from a simulation of theirs
with a fixed seed, so that the pictures are the same every time; a test draws them again.
"""

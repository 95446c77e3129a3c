"""Figures to SVG."""

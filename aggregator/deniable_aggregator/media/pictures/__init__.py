"""Figures drawn: as SVG, as an image, as a page."""

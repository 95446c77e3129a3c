"""Figures as specifications of Vega-Lite."""

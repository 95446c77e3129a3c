"""Formulas over arrays, which know no metric, no store and no web."""

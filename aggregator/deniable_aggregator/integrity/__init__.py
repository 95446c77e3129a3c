"""Fake reports made visible: whether reports look honest, and how much fakes could have done."""

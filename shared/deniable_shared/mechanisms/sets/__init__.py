"""Mechanisms over sets: several items of a device in one report, one file each."""

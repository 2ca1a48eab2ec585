"""Bring patches of any kind into a series."""

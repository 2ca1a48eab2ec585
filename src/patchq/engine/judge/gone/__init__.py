"""Code that is gone from its place: proven gone, followed to where it went, or in doubt."""

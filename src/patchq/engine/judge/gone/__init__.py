"""Code that is not in its place any more: proven gone, followed to its new place, or in doubt."""

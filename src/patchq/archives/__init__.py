"""Source archives, wheels and the package registry as bases."""

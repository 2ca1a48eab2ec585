"""Where in a whole tree some code may be, also rewritten or renamed."""

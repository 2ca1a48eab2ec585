"""Where definitions, imports and names stand in source files."""

"""The names that lines of a file bind, by language."""

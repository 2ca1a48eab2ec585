"""The lines that enclose a line, and the conditions that it is under, as text."""

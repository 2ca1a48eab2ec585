"""Files as they are given, read as patches."""

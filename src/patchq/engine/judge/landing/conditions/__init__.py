"""What a line stands below, and on which conditions, as they are written."""

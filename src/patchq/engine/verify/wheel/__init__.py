"""The architectures in a built wheel, against those the sources promise."""

"""The workspace on disk, its lock, its store, and everything that writes to them."""

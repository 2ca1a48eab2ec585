"""What `patchq help TOPIC` shows."""

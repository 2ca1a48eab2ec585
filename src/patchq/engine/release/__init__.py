"""What a new tag asks of its users besides patches: names, gates, mentions, one work list."""

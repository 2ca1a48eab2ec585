"""What is wrong, unfinished or unportable in a series and its patches."""

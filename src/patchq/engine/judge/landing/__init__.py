"""What of a patch upstream took, by which commit, and whether it is still there."""

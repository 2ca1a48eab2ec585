"""What upstream did since the lines of a patch landed."""

"""What a series, and each patch of it, does to what the project builds."""

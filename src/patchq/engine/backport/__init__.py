"""Make a patch of an upstream change, with the earlier changes that it needs."""

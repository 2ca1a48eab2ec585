"""A series as a tree, a tarball, a branch or a quilt directory: the same bytes everywhere."""

"""A series as commits in a worktree, and back."""

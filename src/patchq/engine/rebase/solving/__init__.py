"""Solve a conflict in the worktree, and let a held patch join its series again."""

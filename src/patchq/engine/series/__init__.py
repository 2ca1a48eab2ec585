"""Patches in order: stack, select, rewrite, edit, compare and check them."""

"""Verdicts made readable: a table for the terminal, JSON for scripts.

Renderers take a :class:`patchq.model.verdict.Report` and nothing else: they never ask git.
"""

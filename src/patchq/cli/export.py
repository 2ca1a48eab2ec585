"""Placeholder while its author writes it."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

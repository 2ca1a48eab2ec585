"""patchq: carry a patch series on a fast upstream."""

__version__ = "0.1.0"

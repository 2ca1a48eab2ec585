"""Every patch on every base."""

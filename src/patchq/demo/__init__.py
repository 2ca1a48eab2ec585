"""The miniature upstream and the downstream's series that ``patchq demo`` and the tests live on."""

"""Prove what can be proved of a patched tree without the hardware it is for."""

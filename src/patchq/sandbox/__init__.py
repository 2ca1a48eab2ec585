"""Run a program that must not be trusted: no file but those named, no network, no other process.

On Linux Landlock and seccomp do it, or bubblewrap; on macOS sandbox-exec.
"""

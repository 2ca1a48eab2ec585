"""The command line: one module a command. It parses, calls the engine and hands on the result."""

"""One run of CMake on a project: in the sandbox, and behind stand-ins for what asks the machine."""

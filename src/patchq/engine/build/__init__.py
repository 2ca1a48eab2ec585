"""What a CMake project builds for a target, found without building it."""

# What CMake says of itself, each on a line of standard error; see cmake.py.
message("${CMAKE_MAJOR_VERSION}.${CMAKE_MINOR_VERSION}.${CMAKE_PATCH_VERSION}")
message("${CMAKE_COMMAND}")
message("${CMAKE_ROOT}")
get_cmake_property(commands COMMANDS)
message("${commands}")

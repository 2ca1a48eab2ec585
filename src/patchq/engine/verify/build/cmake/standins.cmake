# Evaluates a CMake project in script mode, with stand-ins for the commands that would touch the
# machine. What the project does is read from CMake's own trace of it: a stand-in that only needs
# to be seen there does nothing, and the patchq_… commands put a value into the trace.
#
#   cmake -DPATCHQ_PROJECT=DIR -DPATCHQ_ELSEWHERE=DIR -DPATCHQ_MACHINE=FILE
#         -DPATCHQ_REFUSALS=FILE -DPATCHQ_PROCESSOR=aarch64 -DPATCHQ_CUDA=13.0 [-DOPTION=VALUE …]
#         -P standins.cmake
#
# PATCHQ_ELSEWHERE names a directory that is not there: all that the build would fetch, find or
# write seems to be in it. PATCHQ_MACHINE is CMake code that defines what packages set, PATCHQ_REFUSALS
# code that takes away the commands that are refused; see evaluate.py and standins.py.
cmake_minimum_required(VERSION 3.25)

# --- values for the reader of the trace -------------------------------------------------------

function(patchq_created architectures)
endfunction()
function(patchq_enter directory)
endfunction()
function(patchq_leave cuda_flags cxx_flags c_flags)
endfunction()
function(patchq_unknown_content path)
endfunction()
function(patchq_read path)
endfunction()
function(patchq_include path)
endfunction()

# --- out of the project's reach ---------------------------------------------------------------

# A definition leaves what it replaces under the same name with an underscore before it. The
# originals that are used below end up behind two.
foreach(patchq_name IN ITEMS
    cmake_policy file get_filename_component get_property include set_property)
  cmake_language(EVAL CODE "
    macro(${patchq_name})
    endmacro()
    macro(_${patchq_name})
    endmacro()
  ")
endforeach()

# Every other command that CMake has, but those that only work on values, fails. What follows puts
# stand-ins in the place of some.
__include("${PATCHQ_REFUSALS}")

# Everything is defined twice, so that the original is gone.
foreach(patchq_round RANGE 1)
  # Commands that change nothing while the project is evaluated.
  foreach(patchq_name IN ITEMS
      cmake_diagnostic
      add_compile_definitions add_compile_options add_custom_command add_custom_target
      add_definitions add_dependencies add_link_options add_test configure_file define_property
      enable_testing ExternalProject_Add export FetchContent_SetPopulated
      include_directories include_regular_expression install link_directories link_libraries
      make_directory mark_as_advanced remove remove_definitions set_source_files_properties
      set_target_properties set_tests_properties source_group target_compile_definitions
      target_compile_features target_compile_options target_include_directories
      target_link_directories target_link_libraries target_link_options
      target_precompile_headers target_sources write_file)
    cmake_language(EVAL CODE "
      function(${patchq_name})
      endfunction()
    ")
  endforeach()

  foreach(patchq_name IN ITEMS
      add_executable add_library pybind11_add_module Python_add_library Python3_add_library)
    cmake_language(EVAL CODE "
      function(${patchq_name} name)
        patchq_created(\"\${CMAKE_CUDA_ARCHITECTURES}\")
      endfunction()
    ")
  endforeach()

  foreach(patchq_name IN ITEMS find_file find_library find_path find_program)
    cmake_language(EVAL CODE "
      function(${patchq_name} variable)
        patchq_find(\${ARGV})
        set(\${variable} \"\${\${variable}}\" PARENT_SCOPE)
      endfunction()
    ")
  endforeach()

  function(execute_process)
    cmake_parse_arguments(PARSE_ARGV 0 patchq ""
      "OUTPUT_VARIABLE;ERROR_VARIABLE;RESULT_VARIABLE;RESULTS_VARIABLE" "")
    foreach(patchq_name IN ITEMS OUTPUT_VARIABLE ERROR_VARIABLE)
      if(DEFINED patchq_${patchq_name})
        set(${patchq_${patchq_name}} "" PARENT_SCOPE)
      endif()
    endforeach()
    foreach(patchq_name IN ITEMS RESULT_VARIABLE RESULTS_VARIABLE)
      if(DEFINED patchq_${patchq_name})
        set(${patchq_${patchq_name}} 0 PARENT_SCOPE)
      endif()
    endforeach()
  endfunction()

  macro(enable_language)
    foreach(patchq_language IN ITEMS ${ARGV})
      patchq_enable(${patchq_language})
    endforeach()
  endmacro()

  macro(project patchq_name)
    cmake_parse_arguments(patchq "" "VERSION;DESCRIPTION;HOMEPAGE_URL" "LANGUAGES" ${ARGN})
    if(NOT DEFINED CMAKE_PROJECT_NAME)
      set(CMAKE_PROJECT_NAME ${patchq_name})
    endif()
    set(PROJECT_NAME ${patchq_name})
    set(PROJECT_VERSION "${patchq_VERSION}")
    set(PROJECT_SOURCE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    set(PROJECT_BINARY_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    set(${patchq_name}_SOURCE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    set(${patchq_name}_BINARY_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    set(${patchq_name}_VERSION "${patchq_VERSION}")
    enable_language(C CXX ${patchq_LANGUAGES} ${patchq_UNPARSED_ARGUMENTS})
  endmacro()

  # A required package is there, for without it there is no build; of another nothing is known.
  macro(find_package patchq_name)
    set(patchq_arguments "${ARGN}")
    if("REQUIRED" IN_LIST patchq_arguments OR COMMAND patchq_package_${patchq_name})
      set(${patchq_name}_FOUND TRUE)
      if(COMMAND patchq_package_${patchq_name})
        cmake_language(CALL patchq_package_${patchq_name})
      endif()
    else()
      set(${patchq_name}_FOUND FALSE)
    endif()
  endmacro()

  function(FetchContent_Declare name)
    cmake_parse_arguments(PARSE_ARGV 1 patchq "" "SOURCE_DIR;BINARY_DIR" "")
    string(TOLOWER "${name}" patchq_lower)
    foreach(patchq_name IN ITEMS SOURCE_DIR BINARY_DIR)
      if(DEFINED patchq_${patchq_name})
        __set_property(GLOBAL PROPERTY
          "patchq_${patchq_lower}_${patchq_name}" "${patchq_${patchq_name}}")
      endif()
    endforeach()
  endfunction()
  function(FetchContent_GetProperties name)
    string(TOLOWER "${name}" patchq_lower)
    if(NOT DEFINED ${patchq_lower}_POPULATED)
      set(${patchq_lower}_POPULATED FALSE PARENT_SCOPE)
    endif()
  endfunction()
  macro(FetchContent_Populate name)
    patchq_fetched(${name})
  endmacro()
  macro(FetchContent_MakeAvailable)
    foreach(patchq_name IN ITEMS ${ARGV})
      patchq_fetched(${patchq_name})
    endforeach()
  endmacro()

  macro(check_language language)
    set(CMAKE_${language}_COMPILER "${PATCHQ_ELSEWHERE}/${language}")
  endmacro()
endforeach()

# --- parts of the above -----------------------------------------------------------------------

macro(patchq_fetched name)
  string(TOLOWER "${name}" patchq_lower)
  set(${patchq_lower}_POPULATED TRUE)
  set(${patchq_lower}_SOURCE_DIR "${PATCHQ_ELSEWHERE}/${patchq_lower}")
  set(${patchq_lower}_BINARY_DIR "${PATCHQ_ELSEWHERE}/${patchq_lower}-build")
  foreach(patchq_name IN ITEMS SOURCE_DIR BINARY_DIR)
    __get_property(patchq_place GLOBAL PROPERTY "patchq_${patchq_lower}_${patchq_name}")
    if(patchq_place)
      set(${patchq_lower}_${patchq_name} "${patchq_place}")
    endif()
  endforeach()
endmacro()

macro(patchq_enable language)
  set(CMAKE_${language}_COMPILER "${PATCHQ_ELSEWHERE}/${language}")
  if("${language}" STREQUAL "CUDA")
    set(CMAKE_CUDA_COMPILER_ID NVIDIA)
    set(CMAKE_CUDA_COMPILER_VERSION "${PATCHQ_CUDA}")
    set(CMAKE_CUDA_HOST_COMPILER "${PATCHQ_ELSEWHERE}/CXX")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # what nvcc builds for by itself, which CMake takes for the default
      if("${PATCHQ_CUDA}" VERSION_GREATER_EQUAL 13)
        set(CMAKE_CUDA_ARCHITECTURES 75)
      else()
        set(CMAKE_CUDA_ARCHITECTURES 52)
      endif()
    endif()
  elseif("${language}" MATCHES "^(C|CXX)$")
    set(CMAKE_${language}_COMPILER_ID GNU)
    set(CMAKE_COMPILER_IS_GNU${language} TRUE)
  endif()
endmacro()

function(patchq_find variable)
  if(NOT DEFINED ${variable})
    list(FIND ARGN REQUIRED patchq_required)
    if(patchq_required EQUAL -1)
      set(${variable} "${variable}-NOTFOUND")
    else()
      set(${variable} "${PATCHQ_ELSEWHERE}/${variable}")
    endif()
  endif()
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

# --- commands that stay what they are, within bounds ------------------------------------------

# The policies of another version of CMake than this one are taken for the nearest that it has.
macro(patchq_policies version)
  string(REGEX REPLACE "\\.\\.\\..*" "" patchq_version "${version}")
  if("${patchq_version}" VERSION_GREATER "${CMAKE_VERSION}")
    set(patchq_version "${CMAKE_MAJOR_VERSION}.${CMAKE_MINOR_VERSION}")
  elseif("${patchq_version}" VERSION_LESS 3.10)
    set(patchq_version 3.10)
  endif()
  __cmake_policy(VERSION ${patchq_version})
endmacro()

macro(cmake_minimum_required patchq_keyword patchq_minimum)
  set(CMAKE_MINIMUM_REQUIRED_VERSION "${patchq_minimum}")
  patchq_policies("${patchq_minimum}")
endmacro()

macro(cmake_policy patchq_operation)
  if("${patchq_operation}" STREQUAL "VERSION")
    patchq_policies("${ARGV1}")
  elseif("${patchq_operation}" STREQUAL "GET")
    __cmake_policy(${ARGV})
  elseif("${patchq_operation}" STREQUAL "SET")
    if(POLICY "${ARGV1}")
      __cmake_policy(${ARGV})
    endif()
  endif()
endmacro()

# What lies in neither of these two is the machine's: nothing of it is read, and nothing asked of it.
function(patchq_inside path)
  cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  foreach(patchq_place IN ITEMS "${PATCHQ_PROJECT}" "${PATCHQ_ELSEWHERE}")
    cmake_path(IS_PREFIX patchq_place "${path}" patchq_is_in)
    if(patchq_is_in)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${path} is outside the project and was not read")
endfunction()

# A file, or a module: one of the project's, or else one of CMake's own.
macro(include patchq_file)
  set(patchq_arguments "${ARGN}")
  patchq_locate("${patchq_file}")
  if("${patchq_file}" MATCHES "^(CheckLanguage|ExternalProject|FetchContent)$")
    # their commands are above
  elseif(patchq_found)
    patchq_include("${patchq_found}")
    __include("${patchq_found}" ${ARGN})
  elseif(NOT "OPTIONAL" IN_LIST patchq_arguments)
    message(FATAL_ERROR "there is no ${patchq_file} to include")
  endif()
endmacro()

function(patchq_locate file)
  set(patchq_found "")
  cmake_path(IS_PREFIX CMAKE_ROOT "${file}" patchq_is_own)
  if(IS_ABSOLUTE "${file}" AND NOT patchq_is_own)
    patchq_inside("${file}")
  endif()
  set(patchq_places "${file}" "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  foreach(patchq_place IN LISTS CMAKE_MODULE_PATH)
    list(APPEND patchq_places "${patchq_place}/${file}.cmake")
  endforeach()
  foreach(patchq_place IN LISTS patchq_places)
    if(NOT patchq_found AND NOT patchq_is_own AND IS_ABSOLUTE "${patchq_place}"
        AND EXISTS "${patchq_place}" AND NOT IS_DIRECTORY "${patchq_place}")
      patchq_inside("${patchq_place}")
      set(patchq_found "${patchq_place}")
    endif()
  endforeach()
  foreach(patchq_place IN ITEMS "${file}" "${CMAKE_ROOT}/Modules/${file}.cmake")
    cmake_path(IS_PREFIX CMAKE_ROOT "${patchq_place}" NORMALIZE patchq_is_own)
    if(NOT patchq_found AND patchq_is_own AND EXISTS "${patchq_place}")
      set(patchq_found "${patchq_place}")
    endif()
  endforeach()
  set(patchq_found "${patchq_found}" PARENT_SCOPE)
endfunction()

function(add_subdirectory directory)
  cmake_path(ABSOLUTE_PATH directory BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  string(FIND "${directory}" "${PATCHQ_ELSEWHERE}/" patchq_start)
  if(patchq_start EQUAL 0)
    patchq_unknown_content("${directory}")
    return()
  endif()
  patchq_inside("${directory}")
  if(NOT EXISTS "${directory}/CMakeLists.txt")
    message(FATAL_ERROR "there is no CMakeLists.txt in ${directory}")
  endif()
  set(CMAKE_CURRENT_BINARY_DIR "${PATCHQ_ELSEWHERE}/build/${directory}")
  set(CMAKE_CURRENT_SOURCE_DIR "${directory}")
  patchq_enter("${directory}")
  __include("${directory}/CMakeLists.txt")
  patchq_leave("${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_RELEASE}"
    "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}" "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_RELEASE}")
endfunction()

# Nothing that is laid out is a link, so that a real path is an absolute one.
function(get_filename_component variable path mode)
  if("${mode}" STREQUAL "PROGRAM")
    message(FATAL_ERROR "${path}: what a program is on the machine is not known")
  elseif("${mode}" STREQUAL "REALPATH")
    patchq_inside("${path}")
    set(mode ABSOLUTE)
  endif()
  __get_filename_component(${variable} "${path}" ${mode} ${ARGN})
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

macro(set_property patchq_scope)
  if("${patchq_scope}" MATCHES "^(GLOBAL|CACHE)$")
    __set_property(${ARGV})
  endif()
endmacro()

function(get_property variable scope)
  if(NOT "${scope}" MATCHES "^(GLOBAL|CACHE|VARIABLE)$")
    message(FATAL_ERROR "get_property(… ${scope}): its answer is not known without a build")
  endif()
  __get_property(${variable} ${scope} ${ARGN})
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

function(file operation)
  if("${operation}" MATCHES "^(GLOB|GLOB_RECURSE)$")
    patchq_glob("${operation}" ${ARGN})
    set(${ARGV1} "${${ARGV1}}" PARENT_SCOPE)
  elseif("${operation}" STREQUAL "RELATIVE_PATH")
    __file(${ARGV})
    set(${ARGV1} "${${ARGV1}}" PARENT_SCOPE)
  elseif("${operation}" MATCHES "^(REAL_PATH|TO_CMAKE_PATH|TO_NATIVE_PATH)$")
    if("${operation}" STREQUAL "REAL_PATH")
      patchq_inside("${ARGV1}")
    endif()
    __file(${ARGV})
    set(${ARGV2} "${${ARGV2}}" PARENT_SCOPE)
  elseif("${operation}" MATCHES "^(READ|STRINGS|SIZE|MD5|SHA1|SHA224|SHA256|SHA384|SHA512)$")
    cmake_path(ABSOLUTE_PATH ARGV1 BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    string(FIND "${ARGV1}" "${PATCHQ_ELSEWHERE}/" patchq_start)
    if(patchq_start EQUAL 0)
      patchq_unknown_content("${ARGV1}")
      set(${ARGV2} "" PARENT_SCOPE)
    else()
      patchq_inside("${ARGV1}")
      patchq_read("${ARGV1}")
      list(REMOVE_AT ARGN 0)
      __file("${operation}" "${ARGV1}" ${ARGN})
      set(${ARGV2} "${${ARGV2}}" PARENT_SCOPE)
    endif()
  elseif("${operation}" MATCHES "^(LOCK|TIMESTAMP|ARCHIVE_|GET_RUNTIME|READ_SYMLINK|READ_ELF)")
    message(FATAL_ERROR "file(${operation}): its answer is not known without the machine")
  endif()
endfunction()

# A pattern is relative to the directory of the project that is being read, which in script mode
# CMake does not know.
function(patchq_glob operation variable)
  set(patchq_arguments "")
  set(patchq_value FALSE)
  foreach(patchq_word IN LISTS ARGN)
    if(NOT patchq_value AND "${patchq_word}" MATCHES "^(LIST_DIRECTORIES|RELATIVE)$")
      set(patchq_value TRUE)
    elseif(patchq_value)
      set(patchq_value FALSE)
    elseif(NOT "${patchq_word}" MATCHES "^(FOLLOW_SYMLINKS|CONFIGURE_DEPENDS)$")
      if(NOT IS_ABSOLUTE "${patchq_word}")
        string(PREPEND patchq_word "${CMAKE_CURRENT_SOURCE_DIR}/")
      elseif("${patchq_word}" MATCHES "^${PATCHQ_ELSEWHERE}/")
        patchq_unknown_content("${patchq_word}")
      endif()
      patchq_inside("${patchq_word}")
    endif()
    list(APPEND patchq_arguments "${patchq_word}")
  endforeach()
  __file(${operation} ${variable} ${patchq_arguments})
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

# --- the machine ------------------------------------------------------------------------------

foreach(patchq_name IN ITEMS ANDROID APPLE BSD CYGWIN IOS MINGW MSVC MSYS WIN32)
  unset(${patchq_name})
endforeach()
set(UNIX TRUE)
set(LINUX TRUE)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_HOST_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${PATCHQ_PROCESSOR}")
set(CMAKE_HOST_SYSTEM_PROCESSOR "${PATCHQ_PROCESSOR}")
set(CMAKE_SIZEOF_VOID_P 8)
set(CMAKE_INSTALL_PREFIX "${PATCHQ_ELSEWHERE}/install" CACHE PATH "")
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_SOURCE_DIR "${PATCHQ_PROJECT}")
set(CMAKE_CURRENT_SOURCE_DIR "${PATCHQ_PROJECT}")
set(CMAKE_BINARY_DIR "${PATCHQ_ELSEWHERE}/build")
set(CMAKE_CURRENT_BINARY_DIR "${PATCHQ_ELSEWHERE}/build")

macro(patchq_package_CUDAToolkit)
  string(REGEX MATCH "^([0-9]+)\\.?([0-9]*)" patchq_version "${PATCHQ_CUDA}")
  set(CUDAToolkit_VERSION "${PATCHQ_CUDA}")
  set(CUDAToolkit_VERSION_MAJOR "${CMAKE_MATCH_1}")
  set(CUDAToolkit_VERSION_MINOR "${CMAKE_MATCH_2}")
endmacro()

__include("${PATCHQ_MACHINE}")

# --- the project ------------------------------------------------------------------------------

__include("${PATCHQ_PROJECT}/CMakeLists.txt")
patchq_leave("${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_RELEASE}"
  "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}" "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_RELEASE}")

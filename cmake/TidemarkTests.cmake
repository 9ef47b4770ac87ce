# Tests. CTest runs all of them, as `ctest -L unit -j2` or in an IDE; the label of a test is its group. ./dev test builds, starts the real
# parts that a group needs, and calls ctest. Each test is started by tests/driver/one_test.py.
#
#   tidemark_test(GROUP NAME KIND [ARGS...])     a test; KIND is one of the kinds of one_test.py
#   tidemark_group_test(GROUP NAME SOURCES ...)  a GoogleTest program of a group (tidemark_module registers unit tests)
#   tidemark_python_tests(GROUP DIRECTORY)       a test for each test_*.py
#
# It also writes link-graph.txt, lines `NAME DIRECTORY DEPS...`, by which ./dev test affected knows what code a program contains.
include_guard()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Modules whose unit tests run under AddressSanitizer in CI: they parse bytes from other programs and talk to the kernel. ./dev test long runs
# all unit tests under it. The same for suites with Concurrent in their names and ThreadSanitizer.
set(tidemark_address_modules base model net linux journal kube kube_memory hadoop kerberos copilot)
set(tidemark_thread_modules base net journal)
set(tidemark_thread_modules_long kube_memory manager embedded cli operate)

# tests/seconds.txt: lines `GROUP.NAME SECONDS`. CTest starts the longest test first.
file(STRINGS ${CMAKE_SOURCE_DIR}/tests/seconds.txt lines REGEX "^[^#]")
foreach(line ${lines})
  string(REGEX MATCH "^([^ ]+) +([0-9]+)" matched "${line}")
  set(tidemark_seconds_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/seconds.txt)

function(tidemark_test GROUP NAME KIND)
  set(test ${GROUP}.${NAME})
  add_test(NAME ${test} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMAND ${Python3_EXECUTABLE} -m driver.one_test ${GROUP} ${NAME} ${KIND} ${ARGN})
  set(timeout 2000)  # one_test.py ends a test before that, and writes a report
  if(GROUP STREQUAL "long")
    set(timeout 7500)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS ${GROUP} SKIP_RETURN_CODE 77 TIMEOUT ${timeout}
    ENVIRONMENT "PYTHONPATH=${CMAKE_SOURCE_DIR}/tests:${CMAKE_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1")
  if(DEFINED tidemark_seconds_${test})
    set_tests_properties(${test} PROPERTIES COST ${tidemark_seconds_${test}})
  endif()
endfunction()

# A unit test program, in the group that the preset gives it.
function(tidemark_unit_test MODULE NAME)
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_UNIT_TESTS ${NAME})
  if(TIDEMARK_SANITIZE MATCHES "address")
    set(group asan_long)
    if(MODULE IN_LIST tidemark_address_modules)
      set(group asan)
    endif()
    tidemark_test(${group} ${NAME} gtest $<TARGET_FILE:${NAME}>)
  elseif(TIDEMARK_SANITIZE MATCHES "thread")
    if(MODULE IN_LIST tidemark_thread_modules)
      tidemark_test(tsan ${NAME} gtest $<TARGET_FILE:${NAME}> --gtest_filter=*Concurrent*)
    elseif(MODULE IN_LIST tidemark_thread_modules_long)
      tidemark_test(tsan_long ${NAME} gtest $<TARGET_FILE:${NAME}> --gtest_filter=*Concurrent*)
    endif()
  else()
    tidemark_test(unit ${NAME} gtest $<TARGET_FILE:${NAME}>)
  endif()
endfunction()

function(tidemark_group_test GROUP NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  if(NOT GTest_FOUND)
    return()
  endif()
  add_executable(${NAME} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE tidemark_settings tidemark_source_dir ${ARG_LIBS} GTest::gtest_main)
  target_compile_options(${NAME} PRIVATE ${tidemark_test_options})
  tidemark_use_precompiled(${NAME} TEST)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${NAME} PRIVATE tidemark_${dep})
  endforeach()
  tidemark_links(${NAME} ${ARG_DEPS})
  if(GROUP STREQUAL "unit")
    tidemark_unit_test("" ${NAME})
  else()
    tidemark_test(${GROUP} ${NAME} gtest $<TARGET_FILE:${NAME}>)
    set_property(GLOBAL APPEND PROPERTY TIDEMARK_REAL_TOOLS ${NAME})
  endif()
endfunction()

# A program that tests of real parts start.
function(tidemark_test_tool NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${NAME} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE tidemark_settings)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${NAME} PRIVATE tidemark_${dep})
  endforeach()
  tidemark_use_precompiled(${NAME})
  tidemark_links(${NAME} ${ARG_DEPS})
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_REAL_TOOLS ${NAME})
endfunction()

# A file that has a line `ALONE = "reason"` runs while no other test does.
function(tidemark_python_tests GROUP DIRECTORY)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${DIRECTORY}/test_*.py)
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    tidemark_test(${GROUP} ${name} python ${file})
    file(STRINGS ${file} alone REGEX "^ALONE = " LIMIT_COUNT 1)
    if(alone)
      set_tests_properties(${GROUP}.${name} PROPERTIES RUN_SERIAL ON COST 0)  # after the others, which would have to wait for it
    endif()
  endforeach()
endfunction()

function(tidemark_links NAME)
  file(RELATIVE_PATH directory ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE ";" " " deps "${ARGN}")
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_LINKS "${NAME} ${directory} ${deps}")
endfunction()

# tidemark_bench(SUITE NAME SOURCES ... DEPS ... LIBS ...): run by `./dev bench SUITE`.
function(tidemark_bench SUITE NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${NAME} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE tidemark_settings tidemark_source_dir ${ARG_LIBS})
  tidemark_use_precompiled(${NAME})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${NAME} PRIVATE tidemark_${dep})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_BENCHES ${NAME})
  set_target_properties(${NAME} PROPERTIES TIDEMARK_SUITE ${SUITE})
endfunction()

# Called once, at the end of the root list file. Targets: unit-tests, real-tools, fuzzers, benches.
function(tidemark_write_lists)
  get_property(links GLOBAL PROPERTY TIDEMARK_LINKS)
  list(JOIN links "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/link-graph.txt "${text}\n")

  foreach(pair "unit-tests=TIDEMARK_UNIT_TESTS" "real-tools=TIDEMARK_REAL_TOOLS" "fuzzers=TIDEMARK_FUZZERS" "benches=TIDEMARK_BENCHES")
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 property)
    get_property(programs GLOBAL PROPERTY ${property})
    set(lines "")
    foreach(program ${programs})
      set(key ${program})
      if(name STREQUAL "benches")
        get_target_property(key ${program} TIDEMARK_SUITE)
      endif()
      string(APPEND lines "${key} $<TARGET_FILE:${program}>\n")
    endforeach()
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.txt CONTENT "${lines}")
    add_custom_target(${name})
    if(programs)
      add_dependencies(${name} ${programs})
    endif()
  endforeach()
endfunction()

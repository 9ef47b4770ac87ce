# The headers of the standard library and of GoogleTest, parsed once a preset instead of once a file: half of the time of a build was that.
#
# Nothing of ours is in it, so a file that forgets an include of ours still fails to compile; that it forgets none of the standard library
# is tests/tidy's to say (std_includes), and a release is built without this.
include_guard()

option(TIDEMARK_PRECOMPILE "parse the standard library's headers once" ON)

set(tidemark_standard_headers
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <deque> <expected> <filesystem> <fstream> <functional> <limits> <map> <memory>
  <optional> <random> <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>)

function(tidemark_precompiled NAME)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled/${NAME}.cc "")
  add_library(tidemark_${NAME} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${NAME}.cc)
  target_link_libraries(tidemark_${NAME} PRIVATE tidemark_settings)
  target_precompile_headers(tidemark_${NAME} PRIVATE ${ARGN})
  # Two clones have two files with two paths in them: the compiler cache is told what was parsed, and goes by that.
  set_target_properties(tidemark_${NAME} PROPERTIES
    CXX_COMPILER_LAUNCHER "${Python3_EXECUTABLE};${CMAKE_SOURCE_DIR}/cmake/with_digest.py")
endfunction()

if(TIDEMARK_PRECOMPILE AND NOT TIDEMARK_STATIC)
  # CMake's own options name the text of the header as well, by a path that ccache does not take for the same in another clone.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  tidemark_precompiled(precompiled ${tidemark_standard_headers})
  if(TIDEMARK_FAST_FLAGS)
    tidemark_precompiled(precompiled_fast ${tidemark_standard_headers})
    target_compile_options(tidemark_precompiled_fast PRIVATE ${TIDEMARK_FAST_FLAGS})
  endif()
  if(GTest_FOUND)
    tidemark_precompiled(precompiled_test ${tidemark_standard_headers} <gtest/gtest.h>)
    target_link_libraries(tidemark_precompiled_test PRIVATE GTest::gtest)
    target_compile_options(tidemark_precompiled_test PRIVATE ${tidemark_test_options})
  endif()
endif()

# tidemark_use_precompiled(TARGET [TEST|FAST])
function(tidemark_use_precompiled TARGET)
  if(TIDEMARK_PRECOMPILE AND NOT TIDEMARK_STATIC)
    set(from tidemark_precompiled)
    if("TEST" IN_LIST ARGN)
      set(from tidemark_precompiled_test)
    elseif("FAST" IN_LIST ARGN AND TIDEMARK_FAST_FLAGS)
      set(from tidemark_precompiled_fast)
    endif()
    target_precompile_headers(${TARGET} REUSE_FROM ${from})
  endif()
endfunction()

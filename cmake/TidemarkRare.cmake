# tidemark_lay_out_for_agents(TARGET): links TARGET, which has everything in it, with the code that an agent never calls behind the rest.
# Why, and what it saves: docs/decisions/0011-one-binary.md. A module, folder or library that is not there is an error, so that no
# renaming brings it back into every agent's memory unseen.

# Inline functions and templates are compiled into many objects, and the linker keeps the first: those of std, or of a module that agents
# use, may so come from a file that agents never need. They stay in front; only what names the module itself goes behind. What runs before
# main (.text.startup) stays in front too.

# Modules, and how a mangled name says that something is of one.
set(TIDEMARK_RARE_MODULES cli console embedded hadoop kube_memory manager operate runtime yarn_copilot yarn_operator)
set(TIDEMARK_RARE_kube_memory 4kube6memory)
# Of policy/: what the manager, the scheduler of one machine and the commands decide and write; an agent's decisions stay in front.
set(TIDEMARK_RARE_POLICIES calendar incident job_life ledger local_queue nodeslo offer overcommit profile render rollout settings)
set(TIDEMARK_RARE_LIBRARIES expat sqlite3 yaml-cpp)

function(tidemark_lay_out_for_agents target)
  set(TIDEMARK_RARE_FILES "    *${target}.dir/*.o(.text .text._Z*8tidemark4main*)\n")
  foreach(module IN LISTS TIDEMARK_RARE_MODULES)
    if(NOT TARGET tidemark_${module})
      message(FATAL_ERROR "TidemarkRare.cmake: there is no module ${module}")
    endif()
    set(name ${TIDEMARK_RARE_${module}})
    if(NOT name)
      string(LENGTH ${module} length)
      set(name ${length}${module})
    endif()
    string(APPEND TIDEMARK_RARE_FILES "    *libtidemark_${module}.a:*(.text .text._Z*8tidemark${name}*)\n")
  endforeach()
  foreach(folder IN LISTS TIDEMARK_RARE_POLICIES)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/policy/${folder}/*.cc)
    if(NOT sources)
      message(FATAL_ERROR "TidemarkRare.cmake: nothing is compiled in policy/${folder}")
    endif()
    list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")
    foreach(source IN LISTS sources)
      cmake_path(GET source FILENAME file)
      string(APPEND TIDEMARK_RARE_FILES "    *libtidemark_policy.a:${file}.o(.text)\n")
    endforeach()
  endforeach()
  foreach(library IN LISTS TIDEMARK_RARE_LIBRARIES)
    string(APPEND TIDEMARK_RARE_FILES "    *lib${library}.a:*(.text .text._ZN4YAML* .text._ZNK4YAML*)\n")
  endforeach()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/rare.ld.in ${CMAKE_BINARY_DIR}/rare.ld @ONLY)
  target_link_options(${target} PRIVATE "LINKER:-T,${CMAKE_BINARY_DIR}/rare.ld")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_BINARY_DIR}/rare.ld)
endfunction()

# geonce_folder(NAME DEPENDS folder... LIBRARIES target...)
# One static library per folder of src/, made of every .cc file in it. What a folder may include is
# checked by tests/unit/include_table_test.cc against the table in docs/architecture.md.
function(geonce_folder name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources)
    add_library(geonce_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(geonce_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_precompile_headers(geonce_${name} PRIVATE
      <algorithm> <array> <chrono> <cstdint> <functional> <memory> <optional> <span> <string>
      <string_view> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)
  endif()
  target_include_directories(geonce_${name} ${scope} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(geonce_${name} ${scope} geonce_flags fmt::fmt tl::expected ${arg_LIBRARIES})
  foreach(dep IN LISTS arg_DEPENDS)
    target_link_libraries(geonce_${name} ${scope} geonce_${dep})
  endforeach()
endfunction()

# geonce_embedded_specs(TARGET FOLDER): the text of each *.toml in FOLDER becomes part of TARGET.
function(geonce_embedded_specs target folder)
  file(GLOB specs CONFIGURE_DEPENDS ${folder}/*.toml)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/builtin_specs.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DSPECS=${folder} -DOUT=${source} -P ${CMAKE_SOURCE_DIR}/cmake/EmbedSpecs.cmake
    DEPENDS ${specs} ${CMAKE_SOURCE_DIR}/cmake/EmbedSpecs.cmake
    COMMENT "Embedding provider specs")
  target_sources(${target} PRIVATE ${source})
endfunction()

# geonce_sql_steps(TARGET KIND)
# Puts sql/KIND/NNN_name.sql into TARGET as the table that store/sql_steps.h declares, with each file's
# SHA-256, so that the binary carries its schema and can tell whether a store was made by the same steps.
function(geonce_sql_steps target kind)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/${kind}/*.sql)
  list(SORT files)
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME_WE)
    if(NOT name MATCHES "^([0-9][0-9][0-9])_[a-z0-9_]+$")
      message(FATAL_ERROR "${file}: a schema step is called NNN_name.sql")
    endif()
    math(EXPR number "${CMAKE_MATCH_1}" OUTPUT_FORMAT DECIMAL)
    file(SHA256 ${file} checksum)
    file(READ ${file} text)
    string(APPEND rows "    {${number}, \"${name}\", \"${checksum}\", R\"sql(${text})sql\"},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/generated/${kind}_steps.cc)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[
// Made by cmake/Sql.cmake from sql/@kind@/*.sql.
#include "store/sql_steps.h"

namespace geonce {
namespace {
constexpr SqlStep kSteps[] = {
@rows@};
}  // namespace

std::span<const SqlStep> @kind@_steps() { return kSteps; }
}  // namespace geonce
]])
  target_sources(${target} PRIVATE ${out})
endfunction()

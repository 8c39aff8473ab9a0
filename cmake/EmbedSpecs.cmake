# Writes OUT, a source file with the text of each *.toml in SPECS: cmake -DSPECS=… -DOUT=… -P EmbedSpecs.cmake
file(GLOB files ${SPECS}/*.toml)
list(SORT files)
set(rows "")
foreach(path IN LISTS files)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  string(APPEND rows "    {\"${name}\", R\"__toml__(${text})__toml__\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[#include "providers/builtin_specs.h"

#include <array>

namespace geonce {
namespace {

constexpr auto kSpecs = std::to_array<std::pair<std::string_view, std::string_view>>({
@rows@});

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> builtin_specs() { return kSpecs; }

}  // namespace geonce
]] @ONLY)

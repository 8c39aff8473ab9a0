// Against libpostal itself, where it is installed. GEONCE_LIBPOSTAL_DATA names its data folder (and
// then it has to work), GEONCE_LIBPOSTAL its library.

#include <array>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/libpostal_reader.h"

namespace geonce {
namespace {

using testing::Contains;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string data_folder() {
  if (auto named = variable("GEONCE_LIBPOSTAL_DATA"); !named.empty()) return named;
  for (const char* folder : {"/usr/share/libpostal",
                             "/usr/local/share/libpostal",
                             "/var/lib/libpostal",
                             "/opt/libpostal"})
    if (std::filesystem::exists(std::string(folder) + "/address_parser")) return folder;
  return {};
}

TEST(Libpostal, itself_divides_addresses) {
  LibpostalOptions options;
  options.program = LIBPOSTAL_HELPER;
  options.library = variable("GEONCE_LIBPOSTAL");
  if (options.library.empty()) options.library = "libpostal.so.1";
  options.data = data_folder();
  options.timeout = options.start_timeout = std::chrono::minutes{10};
  const auto reader = open_libpostal(options);
  if (!reader && variable("GEONCE_LIBPOSTAL_DATA").empty())
    GTEST_SKIP() << "not run: no libpostal installed (" << reader.error().message << ")";
  ASSERT_TRUE(reader.has_value()) << reader.error().message;
  const std::array<std::string, 2> texts{"781 franklin ave brooklyn ny 11216",
                                         "rua augusta 12 1100-053 lisboa"};
  const auto said = (*reader)->read(texts);
  ASSERT_TRUE(said[0].has_value() && said[1].has_value());
  EXPECT_THAT(*said[0], Contains(TextPart{"house_number", "781"}));
  EXPECT_THAT(*said[0], Contains(TextPart{"road", "franklin ave"}));
  EXPECT_THAT(*said[0], Contains(TextPart{"postcode", "11216"}));
  EXPECT_THAT(*said[1], Contains(TextPart{"road", "rua augusta"}));
  EXPECT_EQ(*said[0], *(*reader)->read(std::span(texts).first(1)).front()) << "it says it twice";
}

}  // namespace
}  // namespace geonce

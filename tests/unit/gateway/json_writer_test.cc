#include "gateway/json_writer.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(JsonWriter, puts_commas_where_they_belong) {
  std::string out;
  JsonWriter json(out);
  json.open();
  json.member("text", "a,:{[");
  json.member("number", 48.0);
  json.name("list");
  json.open_list();
  json.value(1);
  json.value(true);
  json.open();
  json.close();
  json.null();
  json.close_list();
  json.member("last", -7);
  json.close();
  EXPECT_EQ(out, R"({"text":"a,:{[","number":48,"list":[1,true,{},null],"last":-7})");
}

TEST(JsonWriter, any_text_is_read_as_what_it_was) {
  std::string every;
  for (int byte = 0; byte < 0x80; ++byte) every += static_cast<char>(byte);
  for (const std::string& text :
       {every, std::string("Zürich \"Bahnhof\" \\ \u2028"), std::string()}) {
    std::string out;
    JsonWriter(out).value(text);
    EXPECT_EQ(boost::json::parse(out).get_string(), text) << out;
  }
}

}  // namespace
}  // namespace geonce

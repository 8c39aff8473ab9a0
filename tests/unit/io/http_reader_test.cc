#include "io/http_reader.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using Step = HttpReader::Step;

void give(HttpReader& reader, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = reader.room();
    const auto size = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), size);
    reader.took(size);
    bytes.remove_prefix(size);
  }
}

/// What is to be seen of each request in `bytes`, and at the end the fault or what is missing.
std::vector<std::string> read(std::string_view bytes, std::size_t piece, HttpLimits limits = {}) {
  HttpReader reader(limits);
  std::vector<std::string> seen;
  while (!bytes.empty()) {
    give(reader, bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    auto step = reader.next();
    for (; step == Step::complete; step = reader.next()) {
      const ServerRequest& request = reader.request();
      std::string text(to_string(request.method));
      text.append(" ").append(request.path);
      if (!request.query.empty()) text.append("?").append(request.query);
      for (const HttpField& field : request.fields)
        text.append(" ").append(field.name).append("=").append(field.value);
      if (!request.body.empty()) text.append(" [").append(request.body).append("]");
      if (!reader.keeps_alive()) text += " close";
      seen.push_back(text);
      reader.drop();
    }
    if (step == Step::fault) {
      seen.push_back(std::to_string(reader.fault().status));
      return seen;
    }
  }
  if (reader.has_begun()) seen.emplace_back("more");
  return seen;
}

struct Case {
  std::string_view name, bytes;
  std::vector<std::string> seen;
};

class Requests : public testing::TestWithParam<Case> {};

TEST_P(Requests, are_read_the_same_however_they_are_cut) {
  const auto& [name, bytes, seen] = GetParam();
  for (const std::size_t piece :
       {bytes.size(), std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}})
    EXPECT_EQ(read(bytes, piece), seen) << "in pieces of " << piece;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.name);
}

const Case kGood[] = {
    {"plain", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", {"GET /a?b=c Host=x"}},
    {"blanks_around_a_value", "GET / HTTP/1.1\r\nHost: \t x \t\r\n\r\n", {"GET / Host=x"}},
    {"pipelined",
     "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: "
     "3\r\n\r\nabcGET "
     "/3 HTTP/1.1\r\nHost: x\r\n\r\n",
     {"GET /1 Host=x", "POST /2 Host=x Content-Length=3 [abc]", "GET /3 Host=x"}},
    {"chunks",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
     "chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: "
     "1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
     {"POST / Host=x Transfer-Encoding=chunked [abcde]", "GET / Host=x"}},
    {"encoding_in_capitals",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n",
     {"POST / Host=x Transfer-Encoding=CHUNKED [a]"}},
    {"blank_lines_in_front", "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", {"GET / Host=x"}},
    {"no_content",
     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
     {"POST / Host=x Content-Length=0"}},
    {"closes",
     "GET / HTTP/1.1\r\nHost: x\r\nConnection: a, Close\r\n\r\n",
     {"GET / Host=x Connection=a, Close close"}},
    {"http_1_0", "GET / HTTP/1.0\r\n\r\n", {"GET / close"}},
    {"http_1_0_kept",
     "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     {"GET / Connection=keep-alive"}},
    {"as_a_proxy_is_asked", "GET http://h/a?b HTTP/1.1\r\nHost: x\r\n\r\n", {"GET /a?b Host=x"}},
    {"as_a_proxy_without_a_path", "GET HTTP://h HTTP/1.1\r\nHost: x\r\n\r\n", {"GET / Host=x"}},
    {"as_a_proxy_with_a_body",
     "POST http://h HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
     {"POST / Host=x Content-Length=1 [a]"}},
    {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", {"OPTIONS * Host=x"}},
    {"a_method_of_others", "PROPFIND / HTTP/1.1\r\nHost: x\r\n\r\n", {"other / Host=x"}},
    {"bytes_beyond_ascii", "GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", {"GET /\xc3\xa4 Host=x"}},
    {"half", "GET / HTTP/1.1\r\nHost: x\r\n", {"more"}},
    {"half_a_body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab", {"more"}},
};
INSTANTIATE_TEST_SUITE_P(Good, Requests, testing::ValuesIn(kGood), name_of);

#define GEONCE_POST(fields) "POST / HTTP/1.1\r\nHost: x\r\n" fields "\r\n\r\n0\r\n\r\n"
// Where two readers may see the end of a request in two places, or one of them more than the other.
const Case kFaults[] = {
    {"length_and_encoding",
     GEONCE_POST("Content-Length: 5\r\nTransfer-Encoding: chunked"),
     {"400"}},
    {"encoding_and_length",
     GEONCE_POST("Transfer-Encoding: chunked\r\nContent-Length: 5"),
     {"400"}},
    {"two_lengths", GEONCE_POST("Content-Length: 5\r\nContent-Length: 6"), {"400"}},
    {"one_length_twice", GEONCE_POST("Content-Length: 5\r\nContent-Length: 5"), {"400"}},
    {"a_list_of_lengths", GEONCE_POST("Content-Length: 5, 5"), {"400"}},
    {"length_with_plus", GEONCE_POST("Content-Length: +5"), {"400"}},
    {"length_below_0", GEONCE_POST("Content-Length: -1"), {"400"}},
    {"length_in_hex", GEONCE_POST("Content-Length: 0x5"), {"400"}},
    {"length_of_2_to_the_64", GEONCE_POST("Content-Length: 18446744073709551616"), {"400"}},
    {"no_length", GEONCE_POST("Content-Length:"), {"400"}},
    {"size_of_2_to_the_64",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
     {"400"}},
    {"size_with_0x",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
     {"400"}},
    {"chunk_without_end",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
     {"400"}},
    {"nul_in_a_value",
     std::string_view("GET / HTTP/1.1\r\nHost: x\r\nA: a\0b\r\n\r\n", 36),
     {"400"}},
    {"return_in_a_value", "GET / HTTP/1.1\r\nHost: x\r\nA: a\rb\r\n\r\n", {"400"}},
    {"version_1_10", "GET / HTTP/1.10\r\nHost: x\r\n\r\n", {"400"}},
    {"version_2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", {"505"}},
    {"blank_in_the_target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", {"400"}},
    {"control_byte_in_the_target", "GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n", {"400"}},
    {"encoding_of_another_name", GEONCE_POST("Transfer-Encoding: xchunked"), {"501"}},
    {"encoding_and_then_none", GEONCE_POST("Transfer-Encoding: chunked, identity"), {"501"}},
    {"encoding_before_chunks", GEONCE_POST("Transfer-Encoding: gzip, chunked"), {"501"}},
    {"encoding_twice",
     GEONCE_POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
     {"400"}},
    {"no_encoding_and_then_chunks",
     GEONCE_POST("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
     {"501"}},
    {"encoding_behind_a_tab",
     GEONCE_POST("Transfer-Encoding:\x0b"
                 "chunked"),
     {"400"}},
    {"line_without_return", "GET / HTTP/1.1\nHost: x\n\n", {"400"}},
    {"field_without_return", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", {"400"}},
    {"blank_before_the_colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", {"400"}},
    {"folded_line", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", {"400"}},
    {"folded_encoding",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
     {"400"}},
    {"no_host", "GET / HTTP/1.1\r\nA: b\r\n\r\n", {"400"}},
    {"two_hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", {"400"}},
    {"small_method", "get / HTTP/1.1\r\nHost: x\r\n\r\n", {"501"}},
    {"get_with_a_body", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na", {"400"}},
    {"encoding_in_http_1_0",
     "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     {"400"}},
    {"expects_something_else", GEONCE_POST("Expect: miracles"), {"417"}},
    {"no_path", "GET a HTTP/1.1\r\nHost: x\r\n\r\n", {"400"}},
    {"asterisk_of_get", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", {"400"}},
    {"fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", {"400"}},
    {"too_short_for_a_version", "7 \xff \r\n\r\n", {"400"}},
    {"nothing_of_http", "\x16\x03\x01\x02\r\n\r\n", {"400"}},
    {"a_good_one_first",
     "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n",
     {"GET / Host=x", "400"}},
};
INSTANTIATE_TEST_SUITE_P(Faults, Requests, testing::ValuesIn(kFaults), name_of);

TEST(HttpReader, what_is_larger_than_allowed_is_a_fault_before_it_is_all_there) {
  const HttpLimits limits{64, 8};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1'000}}) {
    EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: " + std::string(100, 'x'), piece, limits),
              std::vector<std::string>{"431"});
    EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", piece, limits),
              std::vector<std::string>{"413"});
    EXPECT_EQ(
        read("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n4\r\n",
             piece,
             limits),
        std::vector<std::string>{"413"});
    EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " +
                       std::string(100, 'x'),
                   piece,
                   limits),
              std::vector<std::string>{"431"});
  }
}

TEST(HttpReader, a_client_that_waits_to_be_told_is_told_once) {
  HttpReader reader;
  give(reader, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(reader.next(), Step::more);
  EXPECT_TRUE(reader.take_expectation());
  EXPECT_FALSE(reader.take_expectation());
  give(reader, "a");
  EXPECT_EQ(reader.next(), Step::complete);
  EXPECT_EQ(reader.request().field("expect"), "100-continue") << "also after its bytes have moved";
}

TEST(HttpReader, a_large_body_is_whole) {
  std::string body(3'000'000, 'a');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  HttpReader reader;
  give(reader, "POST /there HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
  std::string_view left = body;
  while (!left.empty()) {
    ASSERT_EQ(reader.next(), Step::more);
    give(reader, left.substr(0, 10'000));
    left.remove_prefix(std::min<std::size_t>(10'000, left.size()));
  }
  ASSERT_EQ(reader.next(), Step::complete);
  EXPECT_EQ(reader.request().body, body);
  EXPECT_EQ(reader.request().path, "/there");
}

}  // namespace
}  // namespace geonce

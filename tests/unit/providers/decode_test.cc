#include "providers/decode.h"

#include <gtest/gtest.h>

#include "providers/check.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

const Spec& spec(std::string_view name) {
  static const Specs specs = *load_specs({});
  return specs.at(std::string(name));
}

Spec made(std::string_view toml) {
  auto parsed = parse_spec(toml, "made.toml");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : Spec{};
}

Transfer complete(int status,
                  std::string body,
                  std::vector<std::pair<std::string, std::string>> headers = {}) {
  Transfer transfer;
  transfer.end = TransferEnd::complete;
  transfer.response = {status, std::move(headers), std::move(body)};
  return transfer;
}

Outcome one(const Spec& by, const Transfer& transfer) {
  const std::vector<ProviderAsk> asks(1);
  auto outcomes = decode(by, transfer, asks, false);
  EXPECT_EQ(outcomes.size(), 1U);
  return outcomes.at(0);
}

std::vector<Outcome> many(const Spec& by,
                          const Transfer& transfer,
                          const std::vector<std::string>& refs) {
  std::vector<ProviderAsk> asks;
  for (const auto& ref : refs) {
    asks.emplace_back().ref = ref;
    asks.back().query.text = "text of " + ref;
  }
  return decode(by, transfer, asks, true);
}

constexpr std::string_view kPaid = R"(spec = 1
name = "paid"
price = { single_microusd = 700, bulk_microusd = 300, bills = ["match"], may_bill = ["no_match"] }
retry_after = { at = "/wait" }
request_id_header = "X-Request-Id"
limits = { max_delay_s = 60 }
[ask]
url = "https://geo.example/search"
query = { q = "{address}" }
[answer]
items = "/list"
lat = "/lat"
lon = "/lon"
confidence = { at = "/score", exact = 1.0, near = 0.5 }
[[pending]]
status = 202
[[error]]
is = { "/code" = 7 }
class = "retry-after"
delay_s = 4
reason = "code 7"
[[error]]
is = { "/code" = 8 }
class = "permanent"
billed = "yes"
[[error]]
is = { "/code" = 9 }
class = "retry"
billed = "unknown"
)";

TEST(Decode, what_was_not_sent_cost_nothing_and_what_was_lost_is_in_doubt) {
  Transfer gone;
  gone.end = TransferEnd::lost;
  gone.error = "Timeout was reached";
  auto outcome = one(made(kPaid), gone);
  EXPECT_EQ(outcome.kind, OutcomeKind::unknown);
  EXPECT_EQ(outcome.billed, Billed::unknown);
  EXPECT_EQ(outcome.failure, FailureClass::retry);
  EXPECT_EQ(outcome.http_status, 0);
  EXPECT_EQ(outcome.reason, "Timeout was reached");
  EXPECT_EQ(outcome.price, Money{700});
  gone.end = TransferEnd::not_sent;
  outcome = one(made(kPaid), gone);
  EXPECT_EQ(outcome.kind, OutcomeKind::not_sent);
  EXPECT_EQ(outcome.billed, Billed::no);
  EXPECT_EQ(one(spec("census"), Transfer{}).billed, Billed::no) << "a free service bills nothing";
}

TEST(Decode, each_status_has_its_class_and_says_whether_it_may_have_been_billed) {
  struct Row {
    std::vector<int> statuses;
    OutcomeKind kind;
    FailureClass failure;
  };
  const std::vector<Row> rows{
      {{400, 413, 414, 422}, OutcomeKind::refused, FailureClass::permanent},
      {{301, 302, 307, 401, 402, 403, 404, 405, 410, 451},
       OutcomeKind::refused,
       FailureClass::fatal},
      {{408, 409, 425, 429, 503}, OutcomeKind::refused, FailureClass::retry},
      {{500, 501, 502, 504, 520, 599}, OutcomeKind::unknown, FailureClass::retry}};
  for (const Row& row : rows)
    for (const int status : row.statuses)
      for (const char* body : {"", "<html>", R"({"list":[]})", R"({"list":[{"lat":1,"lon":2}]})"}) {
        const auto outcome = one(made(kPaid), complete(status, body));
        EXPECT_EQ(outcome.kind, row.kind) << status << body;
        EXPECT_EQ(outcome.failure, row.failure) << status << body;
        EXPECT_EQ(outcome.billed, row.kind == OutcomeKind::unknown ? Billed::unknown : Billed::no)
            << status;
        EXPECT_EQ(outcome.http_status, status);
      }
}

TEST(Decode, a_proper_answer_is_billed_as_the_spec_says) {
  const Spec paid = made(kPaid);
  auto outcome = one(paid,
                     complete(200,
                              R"({"list":[{"lat":1.5,"lon":"-2.5","score":"near"}]})",
                              {{"x-request-id", "r-77"}}));
  EXPECT_EQ(outcome.kind, OutcomeKind::match);
  EXPECT_EQ(outcome.billed, Billed::yes);
  EXPECT_EQ(outcome.answer.at, (LatLng{1.5, -2.5}));
  EXPECT_EQ(outcome.answer.confidence, 0.5);
  EXPECT_EQ(outcome.answer.precision, Precision::unknown);
  EXPECT_EQ(outcome.answer.provider, "paid");
  EXPECT_EQ(outcome.provider_request_id, "r-77");
  outcome = one(paid, complete(200, R"({"list":[]})"));
  EXPECT_EQ(outcome.kind, OutcomeKind::no_match);
  EXPECT_EQ(outcome.billed, Billed::unknown);
  outcome = one(paid, complete(202, ""));
  EXPECT_EQ(outcome.kind, OutcomeKind::pending);
  EXPECT_EQ(outcome.billed, Billed::no);
}

TEST(Decode, rules_come_before_the_status_and_the_first_one_counts) {
  const Spec paid = made(kPaid);
  auto outcome = one(paid, complete(200, R"({"code":8})"));
  EXPECT_EQ(outcome.kind, OutcomeKind::refused);
  EXPECT_EQ(outcome.failure, FailureClass::permanent);
  EXPECT_EQ(outcome.billed, Billed::yes);
  outcome = one(paid, complete(200, R"({"code":9})"));
  EXPECT_EQ(outcome.kind, OutcomeKind::unknown);
  EXPECT_EQ(outcome.billed, Billed::unknown);
  outcome = one(paid, complete(401, R"({"code":7})"));
  EXPECT_EQ(outcome.failure, FailureClass::retry_after);
  EXPECT_EQ(outcome.delay, milliseconds{4'000});
  EXPECT_EQ(outcome.reason, "code 7");
}

TEST(Decode, waits_as_long_as_the_provider_says_and_no_longer_than_allowed) {
  struct Row {
    std::string name;
    int status;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    FailureClass failure;
    std::int64_t delay_ms;
  };
  const auto header = [](std::string value) {
    return std::vector<std::pair<std::string, std::string>>{{"retry-after", std::move(value)}};
  };
  const auto dates = [](std::string value) {
    return std::vector<std::pair<std::string, std::string>>{
        {"date", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"retry-after", std::move(value)}};
  };
  using enum FailureClass;
  const std::vector<Row> rows{
      {"seconds", 429, "", header("7"), retry_after, 7'000},
      {"of 503", 503, "", header("7"), retry_after, 7'000},
      {"zero", 429, "", header("0"), retry_after, 0},
      {"none", 429, "", {}, retry, 0},
      {"negative", 429, "", header("-1"), retry, 0},
      {"malformed", 429, "", header("soon"), retry, 0},
      {"a fraction", 429, "", header("1.5"), retry, 0},
      {"too long", 429, "", header("61"), fatal, 61'000},
      {"absurd", 429, "", header("99999999999999999999999"), fatal, 1'000'000'000'000},
      {"a date", 429, "", dates("Sun, 06 Nov 1994 08:50:07 GMT"), retry_after, 30'000},
      {"the same instant", 429, "", dates("Sun, 06 Nov 1994 08:49:37 GMT"), retry_after, 0},
      {"a date in the past", 429, "", dates("Sun, 06 Nov 1994 08:49:36 GMT"), retry, 0},
      {"no such date", 429, "", dates("Sun, 31 Feb 1994 08:49:37 GMT"), retry, 0},
      {"another month", 429, "", dates("Sun, 06 Nop 1994 08:49:37 GMT"), retry, 0},
      {"a far date", 429, "", dates("Sun, 06 Nov 2044 08:49:37 GMT"), fatal, -1},
      {"in the body", 429, R"({"wait": 2.5})", {}, retry_after, 2'500},
      {"in the body before the header", 429, R"({"wait": "3"})", header("7"), retry_after, 3'000},
      {"a bad one in the body", 429, R"({"wait": -3})", header("7"), retry_after, 7'000},
      {"where nothing was asked for", 500, "", header("7"), retry, 0},
      {"of a rule", 200, R"({"code": 7})", header("9"), retry_after, 9'000},
      {"of a rule alone", 200, R"({"code": 7})", {}, retry_after, 4'000},
  };
  for (const Row& row : rows) {
    const auto outcome = one(made(kPaid), complete(row.status, row.body, row.headers));
    EXPECT_EQ(outcome.failure, row.failure) << row.name;
    if (row.delay_ms >= 0) {
      EXPECT_EQ(outcome.delay, milliseconds{row.delay_ms}) << row.name;
    }
  }
}

TEST(Decode, a_date_without_a_date_to_compare_it_with_is_seen_from_today) {
  EXPECT_EQ(one(made(kPaid), complete(429, "", {{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}))
                .failure,
            FailureClass::retry);
  EXPECT_EQ(one(made(kPaid), complete(429, "", {{"retry-after", "Sun, 06 Nov 2244 08:49:37 GMT"}}))
                .failure,
            FailureClass::fatal);
}

TEST(Decode, what_is_no_proper_answer_is_neither_a_match_nor_a_no_match) {
  for (const auto& name : {"google", "geocodio", "opencage", "census", "ban", "nominatim"})
    for (const std::string_view body : {"",
                                        " ",
                                        "null",
                                        "true",
                                        "0",
                                        "\"x\"",
                                        "{}",
                                        "[[]]",
                                        "[null]",
                                        "{\"results\":",
                                        "{\"results\":{}}",
                                        "{\"results\":null}",
                                        "{\"results\":[null]}",
                                        "{\"results\":[{}]}",
                                        "PROXY_OVER_QUERY_LIMIT",
                                        "<html></html>",
                                        "{\"features\":[{}]}",
                                        "{\"result\":{}}",
                                        "{\"result\":{\"addressMatches\":[{}]}}",
                                        "{\"status\":\"OK\"}",
                                        "{\"status\":\"OK\",\"results\":[{}]}",
                                        "\xFF\xFE",
                                        "[]]",
                                        "{\"error\":\"x\"}"}) {
      const auto outcome = one(spec(name), complete(200, std::string(body)));
      EXPECT_NE(outcome.kind, OutcomeKind::match) << name << body;
      EXPECT_NE(outcome.kind, OutcomeKind::ambiguous) << name << body;
      EXPECT_NE(outcome.kind, OutcomeKind::no_match) << name << body;
      EXPECT_NE(outcome.failure, FailureClass::none) << name << body;
    }
}

TEST(Decode, coordinates_that_are_none_are_a_broken_answer) {
  const Spec paid = made(kPaid);
  for (const std::string_view lat : {"null",
                                     "true",
                                     "\"48,85\"",
                                     "\"\"",
                                     "\"NaN\"",
                                     "90.5",
                                     "-91",
                                     "[1]",
                                     "{}",
                                     "1e999",
                                     "\"1e1\""}) {
    const auto outcome =
        one(paid, complete(200, fmt::format(R"({{"list":[{{"lat":{},"lon":2}}]}})", lat)));
    EXPECT_EQ(outcome.kind, OutcomeKind::unknown) << lat;
    EXPECT_FALSE(outcome.answer.at.has_value()) << lat;
  }
  EXPECT_EQ(one(paid, complete(200, R"({"list":[{"lat":1,"lon":180.1}]})")).kind,
            OutcomeKind::unknown);
  EXPECT_EQ(one(paid, complete(200, R"({"list":[{"lat":1}]})")).kind, OutcomeKind::unknown);
  EXPECT_EQ(one(paid, complete(200, R"({"list":[{"lat":0,"lon":0}]})")).answer.at, (LatLng{0, 0}))
      << "zero is a value; whether this one is wanted, the acceptance rules say";
}

TEST(Decode, texts_of_an_answer_have_no_control_characters) {
  const auto outcome = one(
      spec("ban"),
      complete(200, R"({"type":"FeatureCollection","features":[{"geometry":{"coordinates":[2,48]},
      "properties":{"label":"a\u0000b\nc"}}]})"));
  EXPECT_EQ(outcome.answer.formatted, "a b c");
}

TEST(Decode, an_answer_in_another_encoding_is_read) {
  const std::string body =
      "{\"result\":{\"addressMatches\":[{\"coordinates\":{\"x\":-97,\"y\":30},\"matchedAddress\":"
      "\"PE\xD1"
      "A\"}]}}";
  EXPECT_EQ(one(spec("census"), complete(200, body)).answer.formatted, "PEÑA");
  EXPECT_EQ(one(spec("census"),
                complete(200, body, {{"content-type", "application/json; charset=utf-8"}}))
                .answer.formatted,
            "PEÑA")
      << "one odd byte does not cost an answer";
  EXPECT_EQ(one(spec("ban"),
                complete(200, "\xEF\xBB\xBF{\"type\":\"FeatureCollection\",\"features\":[]}"))
                .kind,
            OutcomeKind::no_match);
}

TEST(Decode, no_reason_repeats_what_the_provider_wrote) {
  const auto outcome = one(
      spec("google"),
      complete(200, R"({"status":"REQUEST_DENIED","error_message":"key SECRET at 12 Oak St"})"));
  EXPECT_EQ(outcome.failure, FailureClass::fatal);
  EXPECT_EQ(outcome.reason.find("SECRET"), std::string::npos);
  EXPECT_EQ(outcome.reason.find("Oak"), std::string::npos);
}

TEST(Decode, a_place_is_a_postcode_where_only_a_postcode_was_asked_for) {
  const auto transfer = complete(
      200,
      R"({"results":[{"location":{"lat":41,"lng":-87},"accuracy_type":"place","accuracy":1}]})");
  std::vector<ProviderAsk> asks(1);
  asks[0].query.text = "60611";
  EXPECT_EQ(decode(spec("geocodio"), transfer, asks, false)[0].answer.precision,
            Precision::postcode);
  asks[0].query.text = "Chicago, IL";
  EXPECT_EQ(decode(spec("geocodio"), transfer, asks, false)[0].answer.precision,
            Precision::locality);
}

// --- many in one answer --------------------------------------------------------------------------

constexpr std::string_view kStatusPerItem = R"(
[bulk]
max = 10
url = "https://geo.example/batch"
[bulk.json]
item = { q = "{address}", id = "{ref}" }
list_at = "/requests"
[bulk.answer]
items = "/answers"
ref = "/id"
status = "/status"
response = "/body"
)";

TEST(DecodeBulk, items_are_joined_by_their_reference_whatever_their_order) {
  const Spec by = made(std::string(kPaid) + std::string(kStatusPerItem));
  const auto outcomes = many(by,
                             complete(200, R"({"answers":[
      {"id": "c", "status": 429, "body": {"wait": 5}},
      {"id": "b", "status": 200, "body": {"list": []}},
      {"id": "x", "status": 200, "body": {"list": [{"lat": 9, "lon": 9}]}},
      {"id": "a", "status": 200, "body": {"list": [{"lat": 1, "lon": 2}]}},
      {"id": "d", "status": "odd", "body": {"list": [{"lat": 1, "lon": 2}]}},
      {"id": "e", "status": 200}]})"),
                             {"a", "b", "c", "d", "e", "f"});
  ASSERT_EQ(outcomes.size(), 6U);
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::match);
  EXPECT_EQ(outcomes[0].answer.at, (LatLng{1, 2}));
  EXPECT_EQ(outcomes[0].price, Money{300});
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::no_match);
  EXPECT_EQ(outcomes[2].failure, FailureClass::retry_after);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::refused);
  for (const std::size_t i : {3U, 4U, 5U}) {
    EXPECT_EQ(outcomes[i].kind, OutcomeKind::unknown) << i;
    EXPECT_EQ(outcomes[i].billed, Billed::unknown) << i;
  }
}

TEST(DecodeBulk, an_item_that_comes_twice_counts_only_when_both_say_the_same) {
  const Spec by = made(std::string(kPaid) + std::string(kStatusPerItem));
  const auto outcomes = many(by,
                             complete(200, R"({"answers":[
      {"id": "a", "status": 200, "body": {"list": [{"lat": 1, "lon": 2}]}},
      {"id": "a", "status": 200, "body": {"list": [{"lat": 1, "lon": 2}]}},
      {"id": "b", "status": 200, "body": {"list": [{"lat": 1, "lon": 2}]}},
      {"id": "b", "status": 200, "body": {"list": [{"lat": 3, "lon": 4}]}}]})"),
                             {"a", "b"});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::match);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::unknown);
}

TEST(DecodeBulk, positions_count_only_when_there_are_as_many_answers_as_questions) {
  const auto item = [](int lat) {
    return fmt::format(R"({{"response":{{"results":[{{"location":{{"lat":{},"lng":2}}}}]}}}})",
                       lat);
  };
  const auto two = fmt::format(R"({{"results":[{},{}]}})", item(1), item(2));
  auto outcomes = many(spec("geocodio"), complete(200, two), {"a", "b"});
  EXPECT_EQ(outcomes[0].answer.at, (LatLng{1, 2}));
  EXPECT_EQ(outcomes[1].answer.at, (LatLng{2, 2}));
  for (const std::vector<std::string>& refs :
       {std::vector<std::string>{"a"}, std::vector<std::string>{"a", "b", "c"}})
    for (const auto& outcome : many(spec("geocodio"), complete(200, two), refs))
      EXPECT_EQ(outcome.kind, OutcomeKind::unknown);
}

TEST(DecodeBulk, a_text_that_is_echoed_says_more_than_the_position) {
  const auto item = [](std::string_view echo, int lat) {
    return fmt::format(
        R"({{"query":"{}","response":{{"results":[{{"location":{{"lat":{},"lng":2}}}}]}}}})",
        echo,
        lat);
  };
  auto outcomes = many(
      spec("geocodio"),
      complete(200,
               fmt::format(R"({{"results":[{},{}]}})", item("text of b", 2), item("text of a", 1))),
      {"a", "b"});
  EXPECT_EQ(outcomes[0].answer.at, (LatLng{1, 2}));
  EXPECT_EQ(outcomes[1].answer.at, (LatLng{2, 2}));
  outcomes = many(spec("geocodio"),
                  complete(200, fmt::format(R"({{"results":[{}]}})", item("text of b", 2))),
                  {"a", "b"});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::unknown);
  EXPECT_EQ(outcomes[1].answer.at, (LatLng{2, 2}));
}

TEST(DecodeBulk, a_refused_call_refuses_every_address_and_finds_none_missing) {
  for (const auto& outcome : many(spec("geocodio"),
                                  complete(422, R"({"error":"Could not geocode address."})"),
                                  {"a", "b"})) {
    EXPECT_EQ(outcome.kind, OutcomeKind::refused)
        << "the call was refused, no address was looked up";
    EXPECT_EQ(outcome.failure, FailureClass::permanent);
  }
  for (const auto& outcome : many(spec("ban"), complete(429, ""), {"a", "b"}))
    EXPECT_EQ(outcome.delay, milliseconds{5'000});
  for (const auto& outcome : many(spec("census"), complete(200, "<html>"), {"a"}))
    EXPECT_EQ(outcome.kind, OutcomeKind::unknown);
  for (const auto& outcome : many(spec("census"), complete(200, ""), {"a"}))
    EXPECT_EQ(outcome.kind, OutcomeKind::unknown);
}

TEST(DecodeBulk, the_same_bytes_give_the_same_outcomes) {
  const auto transfer = complete(200, "\"2\",\"x\",\"Tie\"\n\"1\",\"x\",\"No_Match\"\n");
  const auto once = many(spec("census"), transfer, {"1", "2", "3"}),
             again = many(spec("census"), transfer, {"1", "2", "3"});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(once[i].kind, again[i].kind);
    EXPECT_EQ(once[i].answer, again[i].answer);
  }
  EXPECT_EQ(once[0].kind, OutcomeKind::no_match);
  EXPECT_EQ(once[1].kind, OutcomeKind::ambiguous);
  EXPECT_EQ(once[1].answer.kind, AnswerKind::ambiguous);
  EXPECT_FALSE(once[1].answer.at.has_value());
  EXPECT_EQ(once[2].kind, OutcomeKind::unknown);
}

}  // namespace
}  // namespace geonce

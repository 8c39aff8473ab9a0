// Answers that were cut, bent or mixed up on their way: whatever comes, nothing crashes, and no
// broken body becomes a match or a no-match.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "providers/decode.h"

namespace geonce {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

struct Saved {
  std::string label;
  const Spec* spec = nullptr;
  bool bulk = false;
  Transfer transfer;
  std::vector<ProviderAsk> asks;
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

/// Every saved response of every built-in spec, with what was asked.
const std::vector<Saved>& corpus() {
  static const Specs specs = *load_specs({});
  static const std::vector<Saved> all = [] {
    std::vector<Saved> loaded;
    for (const auto& [name, spec] : specs) {
      const fs::path folder = fs::path(GEONCE_SOURCE_DIR) / "tests/fixtures/providers" / name;
      const auto expected = json::parse(read_file(folder / "expected.json"));
      for (const auto& [key, node] : expected.at("responses").as_object()) {
        const auto& response = node.as_object();
        Saved saved;
        saved.label = fmt::format("{}/{}", name, std::string_view(key));
        saved.spec = &spec;
        saved.bulk = response.contains("items") || response.contains("mode");
        saved.transfer.end = TransferEnd::complete;
        saved.transfer.response.status = static_cast<int>(response.at("http_status").as_int64());
        saved.transfer.response.body =
            read_file(folder / std::string(response.at("file").as_string()));
        std::vector<std::string> refs{"1"};
        if (const auto* submitted = response.if_contains("submitted")) {
          refs.clear();
          for (const auto& ref : submitted->as_array()) refs.emplace_back(ref.as_string());
        }
        for (const auto& ref : refs) {
          saved.asks.emplace_back().ref = ref;
          saved.asks.back().query.text = ref;
        }
        loaded.push_back(std::move(saved));
      }
    }
    return loaded;
  }();
  return all;
}

std::vector<Outcome> decode_body(const Saved& saved, std::string body) {
  Transfer transfer = saved.transfer;
  transfer.response.body = std::move(body);
  return decode(*saved.spec, transfer, saved.asks, saved.bulk);
}

bool is_final(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::match || outcome.kind == OutcomeKind::no_match ||
         outcome.kind == OutcomeKind::ambiguous;
}

void expect_sound(const Outcome& outcome, std::string_view label) {
  EXPECT_EQ(outcome.kind == OutcomeKind::match, outcome.answer.at.has_value()) << label;
  if (outcome.answer.at) {
    EXPECT_TRUE(is_valid(*outcome.answer.at)) << label;
  }
  if (outcome.answer.confidence) {
    EXPECT_TRUE(*outcome.answer.confidence >= 0 && *outcome.answer.confidence <= 1) << label;
  }
  const bool failed = outcome.kind == OutcomeKind::refused || outcome.kind == OutcomeKind::unknown;
  EXPECT_EQ(failed, outcome.failure != FailureClass::none) << label;
  if (outcome.kind == OutcomeKind::unknown && outcome.price != Money{}) {
    EXPECT_EQ(outcome.billed, Billed::unknown) << label;
  }
}

bool is_json(std::string_view text) {
  boost::system::error_code error;
  json::parse(text, error);
  return !error;
}

bool same_answer(const Outcome& a, const Outcome& b) {
  return a.kind == b.kind && a.answer == b.answer;
}

TEST(ProviderMutations, a_cut_body_gives_the_whole_answer_or_none) {
  std::size_t cuts = 0;
  for (const Saved& saved : corpus()) {
    const std::string& body = saved.transfer.response.body;
    const auto whole = decode_body(saved, body);
    const bool reads_json = !saved.bulk || !saved.spec->bulk->answer_is_csv;
    for (std::size_t length = 0; length < body.size(); length += length < 2'000 ? 1 : 37) {
      const std::string cut = body.substr(0, length);
      const auto outcomes = decode_body(saved, cut);
      ASSERT_EQ(outcomes.size(), whole.size());
      ++cuts;
      for (std::size_t i = 0; i < outcomes.size(); ++i) {
        expect_sound(outcomes[i], saved.label);
        // One that contradicts itself later on says more when it is shorter.
        if (!is_final(outcomes[i]) || whole[i].kind == OutcomeKind::unknown) continue;
        EXPECT_TRUE(same_answer(outcomes[i], whole[i])) << saved.label << " cut at " << length;
        EXPECT_TRUE(!reads_json || is_json(cut)) << saved.label << " cut at " << length;
      }
    }
  }
  EXPECT_GT(cuts, 20'000U);
}

std::string bent(std::string body, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  constexpr std::string_view kTokens[] = {"null",
                                          "{}",
                                          "[]",
                                          "\"\"",
                                          "-",
                                          "1e999",
                                          "true",
                                          ",",
                                          ":",
                                          "\n",
                                          "\"",
                                          "\\u0000",
                                          "}",
                                          "]",
                                          "0"};
  for (std::size_t times = 1 + below(4); times > 0; --times) {
    const std::size_t at = below(body.size() + 1);
    switch (below(6)) {
      case 0:
        if (at < body.size()) body[at] = static_cast<char>(random());
        break;
      case 1:
        body.erase(at, below(20));
        break;
      case 2:
        body.insert(at, kTokens[below(std::size(kTokens))]);
        break;
      case 3:
        body.insert(at, body.substr(below(body.size() + 1), below(200)));
        break;
      case 4:
        if (at < body.size()) body[at] = static_cast<char>(body[at] ^ (1 << below(8)));
        break;
      default:
        body.resize(at);
    }
  }
  return body;
}

TEST(ProviderMutations,
     random_damage_never_crashes_and_never_becomes_an_answer_unless_it_still_is_one) {
  std::mt19937 random(20'260'801);
  for (const Saved& saved : corpus()) {
    const bool reads_json = !saved.bulk || !saved.spec->bulk->answer_is_csv;
    for (int round = 0; round < 400; ++round) {
      const std::string body = bent(saved.transfer.response.body, random);
      for (const auto& outcome : decode_body(saved, body)) {
        expect_sound(outcome, saved.label);
        if (is_final(outcome) && reads_json && !saved.spec->latin1) {
          // One odd byte is read as ISO-8859-1, so what has to parse is the text, not the bytes.
          std::string ascii = body;
          for (char& c : ascii)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
          EXPECT_TRUE(is_json(ascii)) << saved.label << "\n" << body;
        }
      }
    }
  }
}

/// Puts something else in the place of a random node of the document.
void bend(json::value& node, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  if (below(3) != 0) {
    if (auto* array = node.if_array(); array != nullptr && !array->empty())
      return bend((*array)[below(array->size())], random);
    if (auto* object = node.if_object(); object != nullptr && !object->empty())
      return bend((object->begin() + static_cast<std::ptrdiff_t>(below(object->size())))->value(),
                  random);
  }
  switch (below(9)) {
    case 0:
      node = nullptr;
      break;
    case 1:
      node = true;
      break;
    case 2:
      node = "48,85";
      break;
    case 3:
      node = 1e300;
      break;
    case 4:
      node = -0.0;
      break;
    case 5:
      node = json::array();
      break;
    case 6:
      node = json::object();
      break;
    case 7:
      node = json::array{json::value(node), json::value(node)};
      break;
    default:
      node = json::object{{"error", json::value(node)}};
  }
}

TEST(ProviderMutations, a_document_of_another_shape_is_sound_or_refused) {
  std::mt19937 random(20'260'802);
  std::size_t tried = 0;
  for (const Saved& saved : corpus()) {
    if (!is_json(saved.transfer.response.body)) continue;
    const json::value whole = json::parse(saved.transfer.response.body);
    for (int round = 0; round < 400; ++round, ++tried) {
      json::value other = whole;
      for (std::size_t times = 1 + random() % 3; times > 0; --times) bend(other, random);
      for (const auto& outcome : decode_body(saved, json::serialize(other)))
        expect_sound(outcome, saved.label);
    }
  }
  EXPECT_GT(tried, 10'000U);
}

TEST(ProviderMutations, no_answer_comes_from_a_status_that_is_an_error) {
  for (const Saved& saved : corpus())
    for (const int status : {301, 400, 401, 403, 429, 500, 502, 503}) {
      Transfer transfer = saved.transfer;
      transfer.response.status = status;
      for (const auto& outcome : decode(*saved.spec, transfer, saved.asks, saved.bulk))
        EXPECT_FALSE(is_final(outcome)) << saved.label << " as " << status;
    }
}

TEST(ProviderMutations, odd_headers_do_no_harm) {
  std::mt19937 random(20'260'803);
  for (const Saved& saved : corpus())
    for (int round = 0; round < 50; ++round) {
      Transfer transfer = saved.transfer;
      for (const char* name : {"retry-after", "date", "content-type"}) {
        std::string value = round % 2 == 0 ? "Sun, 06 Nov 1994 08:49:37 GMT" : "text/csv; charset=";
        transfer.response.headers.emplace_back(name, bent(std::move(value), random));
      }
      transfer.response.status = round % 3 == 0 ? 429 : transfer.response.status;
      for (const auto& outcome : decode(*saved.spec, transfer, saved.asks, saved.bulk)) {
        expect_sound(outcome, saved.label);
        EXPECT_GE(outcome.delay.count(), 0);
      }
    }
}

}  // namespace
}  // namespace geonce

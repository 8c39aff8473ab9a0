#include "batch/row_work.h"

#include <gtest/gtest.h>

#include "support/scripted_reader.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

class RowWorkTest : public testing::Test {
 protected:
  void read(const std::string& csv) {
    const std::string path = directory_.write("in.csv", csv);
    InputOptions options;
    options.path = path;
    auto input = RowInput::open(options);
    ASSERT_TRUE(input) << input.error().message;
    MappingOptions how;
    how.address = "address";
    how.default_country = Country('U', 'S');
    how.default_city = default_city_;
    auto mapping = Mapping::make(how, input->shape().columns);
    ASSERT_TRUE(mapping) << mapping.error().message;
    mapping_ = std::move(*mapping);
    auto more = input->next(work_.chunk);
    ASSERT_TRUE(more && *more);
    RowReader reader(*input, *mapping_, nullptr, false, known_rows_, KeyRing::plain(), second_);
    reader.read(work_, kDefaultPool, kNow);
    reader.add_building_keys(work_);
  }

  /// What the run does with the second row of a spelling once it is answered.
  void remember(std::size_t row, UtcMs expires_at) {
    KnownRow known = work_.repeated.at(work_.rows.at(row).repeated);
    known.has_answer = true;
    known.expires_at = expires_at;
    known_rows_.put(std::move(known));
  }

  static Resolved match(double lat_deg) {
    Answer answer;
    answer.kind = AnswerKind::match;
    answer.at = LatLng{lat_deg, 2};
    answer.provider = "test";
    Resolved resolved;
    resolved.answer = std::make_shared<const Answer>(answer);
    resolved.source = AnswerSource::paid;
    resolved.answered_at = 5;
    resolved.expires_at = 6;
    resolved.cost = Money{500};
    resolved.calls = 1;
    return resolved;
  }

  TempDir directory_;
  static constexpr UtcMs kNow = 1'000;
  KnownRows known_rows_{std::size_t{1} << 20U};
  std::optional<Mapping> mapping_;
  RowWork work_;
  std::string default_city_;
  ScriptedReader scripted_;
  SecondReader* second_ = nullptr;
};

TEST_F(RowWorkTest, rows_of_one_address_in_any_spelling_are_asked_once) {
  read(
      "id,address\n"
      "1,\"12 Oak St, Reno, NV 89501\"\n"
      "2,\"12 OAK STREET, RENO, NV 89501\"\n"
      "3,\"14 Oak St, Reno, NV 89501\"\n");
  ASSERT_EQ(work_.rows.size(), 3U);
  EXPECT_EQ(work_.asked.size(), 2U);
  EXPECT_EQ(work_.rows[0].asked, work_.rows[1].asked);
  EXPECT_NE(work_.rows[0].asked, work_.rows[2].asked);
  EXPECT_TRUE(work_.rows[0].is_first);
  EXPECT_FALSE(work_.rows[1].is_first);
  EXPECT_EQ(query_of(*mapping_, work_, work_.asked[0]).text, "12 Oak St, Reno, NV 89501");
  EXPECT_EQ(query_of(*mapping_, work_, work_.asked[0]).country, Country('U', 'S'));
}

TEST_F(RowWorkTest, the_third_row_of_a_spelling_is_answered_by_the_second) {
  const std::string row = "1,\"12 Oak St, Reno, NV 89501\"\n";
  read("id,address\n" + row);
  EXPECT_EQ(work_.rows[0].repeated, RowRef::kNone);
  read("id,address\n" + row);
  ASSERT_NE(work_.rows[0].repeated, RowRef::kNone);
  EXPECT_FALSE(work_.asked[0].known);
  const Key key = work_.asked[0].slot.key;
  remember(0, kNow + 1);

  read("id,address\n" + row + "2,\"12 oak st, Reno, NV 89501\"\n");
  ASSERT_EQ(work_.asked.size(), 1U);
  ASSERT_TRUE(work_.asked[0].known);
  EXPECT_TRUE(work_.asked[0].is_final);
  EXPECT_EQ(work_.asked[0].slot.key, key);
  EXPECT_EQ(work_.rows[1].asked, 0U) << "another spelling of the same address";
}

TEST_F(RowWorkTest, what_has_expired_since_is_asked_again) {
  const std::string csv = "id,address\n1,\"12 Oak St, Reno, NV 89501\"\n";
  read(csv);
  read(csv);
  remember(0, kNow);
  read(csv);
  EXPECT_FALSE(work_.asked[0].known);
  EXPECT_NE(work_.rows[0].repeated, RowRef::kNone);
}

TEST_F(RowWorkTest, a_kept_chunk_goes_before_what_the_run_knows) {
  const std::string csv = "id,address\n1,\"12 Oak St, Reno, NV 89501\"\n";
  read(csv);
  work_.asked[0].resolved = match(1.5);
  work_.asked[0].erase_at = 99;
  work_.asked[0].is_final = true;
  const std::string bytes = encode_chunk(work_);
  read(csv);
  remember(0, 0);
  read(csv);
  ASSERT_TRUE(work_.asked[0].known);
  decode_chunk(bytes, work_);
  EXPECT_FALSE(work_.asked[0].known);
  EXPECT_EQ(work_.asked[0].resolved.cost, Money{500});
}

TEST_F(RowWorkTest, empty_and_damaged_rows_and_impossible_addresses_are_not_asked_about) {
  read("id,address\n1,\n2\n3,\"12 Oak St, Reno, NV 89501\"\n4," + std::string(3'000, 'x') + "\n");
  ASSERT_EQ(work_.rows.size(), 4U);
  EXPECT_TRUE(work_.rows[0].is_empty);
  EXPECT_NE(work_.rows[1].problem, RowRef::kNone);
  EXPECT_FALSE(work_.rows[1].refusal);
  EXPECT_EQ(work_.rows[2].asked, 0U);
  EXPECT_EQ(work_.rows[3].refusal, ErrorCode::invalid_address);
}

TEST_F(RowWorkTest, a_kept_chunk_gives_its_answers_back_to_the_same_rows_only) {
  read("id,address\n1,\"12 Oak St, Reno, NV 89501\"\n2,\"14 Oak St, Reno, NV 89501\"\n");
  work_.asked[0].resolved = match(1.5);
  work_.asked[0].erase_at = 99;
  work_.asked[1].resolved.error = Error{ErrorCode::provider_permanent, "no", {}, {}, {}};
  work_.asked[0].is_final = work_.asked[1].is_final = true;
  const std::string bytes = encode_chunk(work_);

  read("id,address\n1,\"12 Oak St, Reno, NV 89501\"\n2,\"14 Oak St, Reno, NV 89501\"\n");
  decode_chunk(bytes, work_);
  ASSERT_TRUE(work_.asked[0].is_replayed);
  EXPECT_EQ(*work_.asked[0].resolved.answer, *match(1.5).answer);
  EXPECT_EQ(work_.asked[0].resolved.cost, Money{500});
  EXPECT_EQ(work_.asked[0].erase_at, 99);
  ASSERT_TRUE(work_.asked[1].is_replayed);
  EXPECT_EQ(work_.asked[1].resolved.error->code, ErrorCode::provider_permanent);

  read("id,address\n1,\"12 Elm St, Reno, NV 89501\"\n2,\"14 Oak St, Reno, NV 89501\"\n");
  decode_chunk(bytes, work_);
  EXPECT_FALSE(work_.asked[0].is_replayed);
  EXPECT_TRUE(work_.asked[1].is_replayed);

  read("id,address\n2,\"14 Oak St, Reno, NV 89501\"\n1,\"12 Oak St, Reno, NV 89501\"\n");
  decode_chunk(bytes, work_);
  EXPECT_EQ(work_.asked[0].resolved.error->code, ErrorCode::provider_permanent);
  EXPECT_EQ(work_.asked[1].erase_at, 99);
}

/// Two readings, so the built-in rules have none.
constexpr const char* kDoubtful = "12 Main St West Chester";
const std::vector<TextPart> kParts{
    {"house_number", "12"}, {"road", "main st"}, {"city", "west chester"}};

TEST_F(RowWorkTest, the_second_reader_is_asked_once_for_all_rows_of_a_chunk) {
  second_ = &scripted_;
  scripted_.answers["12 main st west chester"] = kParts;
  read(
      "id,address\n"
      "1,12 Main St West Chester\n"
      "2,\"12 Oak St, Reno, NV 89501\"\n"
      "3,12 MAIN ST WEST CHESTER\n"
      "4,13 Main St West Chester\n");
  EXPECT_EQ(scripted_.requests, 1);
  EXPECT_EQ(scripted_.asked.size(), 3U);
  ASSERT_EQ(work_.asked.size(), 3U);
  EXPECT_EQ(work_.rows[0].asked, work_.rows[2].asked);
  EXPECT_TRUE(work_.rows[0].is_first);
  EXPECT_FALSE(work_.rows[2].is_first);
  const Asked read_one = work_.asked[work_.rows[0].asked];
  EXPECT_EQ(read_one.row, 0U);
  EXPECT_EQ(sha256(read_one.pre_image), read_one.slot.key);
  const auto canonical = parse_pre_image(read_one.pre_image);
  ASSERT_TRUE(canonical);
  EXPECT_EQ(read_one.building_key, sha256(building_pre_image(*canonical)));
  EXPECT_EQ(work_.asked[work_.rows[1].asked].pre_image, "");
  // One without a reading has the key it has without a second reader.
  const Asked unread = work_.asked[work_.rows[3].asked];
  second_ = nullptr;
  read("id,address\n4,13 Main St West Chester\n1,12 Main St West Chester\n");
  EXPECT_EQ(work_.asked[0].slot, unread.slot);
  EXPECT_EQ(work_.asked[0].building_key, unread.building_key);
  EXPECT_NE(work_.asked[1].slot, read_one.slot);
}

TEST_F(RowWorkTest, a_row_that_the_second_reader_does_not_read_has_no_address) {
  second_ = &scripted_;
  scripted_.is_down = true;
  read("id,address\n1,12 Main St West Chester\n2,\"12 Oak St, Reno, NV 89501\"\n");
  EXPECT_EQ(work_.rows[0].asked, RowRef::kNone);
  EXPECT_EQ(work_.rows[0].refusal, ErrorCode::reader_unavailable);
  EXPECT_EQ(work_.problems[work_.rows[0].problem], "the reader is down");
  EXPECT_EQ(work_.asked.size(), 1U);
}

TEST_F(RowWorkTest, a_default_city_is_not_added_to_what_the_second_reader_read) {
  second_ = &scripted_;
  default_city_ = "Erie";
  scripted_.answers["12 main st west chester"] = {{"house_number", "12"},
                                                  {"road", "main st west chester"}};
  read("id,address\n1,12 Main St West Chester\n2,12 Oak St\n");
  EXPECT_FALSE(work_.asked[work_.rows[0].asked].took_defaults);
  EXPECT_TRUE(work_.asked[work_.rows[1].asked].took_defaults);
}

TEST_F(RowWorkTest, a_spelling_that_was_read_twice_is_not_read_a_third_time) {
  second_ = &scripted_;
  scripted_.answers["12 main st west chester"] = kParts;
  const std::string csv = std::string("id,address\n1,") + kDoubtful + "\n";
  read(csv);
  read(csv);
  EXPECT_EQ(scripted_.requests, 2);
  const Slot slot = work_.asked[0].slot;
  remember(0, 0);
  read(csv);
  EXPECT_EQ(scripted_.requests, 2);
  EXPECT_EQ(work_.asked[0].slot, slot);
  EXPECT_TRUE(work_.asked[0].known);
}

TEST_F(RowWorkTest, an_answer_that_may_not_be_kept_is_not_in_the_chunk) {
  read("id,address\n1,\"12 Oak St, Reno, NV 89501\"\n");
  const Asked blank = work_.asked[0];
  work_.asked[0].resolved = match(1.5);
  work_.asked[0].is_final = true;
  const std::string bytes = encode_chunk(work_);
  EXPECT_EQ(bytes.size(), 1U + 4 + 32 + 1);
  work_.asked[0] = blank;
  decode_chunk(bytes, work_);
  EXPECT_FALSE(work_.asked[0].is_replayed);
}

TEST_F(RowWorkTest, cut_or_foreign_bytes_give_nothing_that_was_not_whole) {
  read("id,address\n1,\"12 Oak St, Reno, NV 89501\"\n");
  const Asked blank = work_.asked[0];
  work_.asked[0].resolved = match(1.5);
  work_.asked[0].erase_at = 99;
  work_.asked[0].is_final = true;
  const std::string bytes = encode_chunk(work_);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    work_.asked[0] = blank;
    decode_chunk(std::string_view(bytes).substr(0, size), work_);
    EXPECT_FALSE(work_.asked[0].is_replayed) << size;
  }
}

}  // namespace
}  // namespace geonce

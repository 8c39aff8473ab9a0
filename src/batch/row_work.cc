#include "batch/row_work.h"

#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "core/answer_bytes.h"

namespace geonce {
namespace {

constexpr char kCodec = 1;
constexpr char kError = 0, kAnswer = 1, kOpen = 2;

template <class T>
void put(std::string& out, T value) {
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, bytes.size());
  out.append(bytes.data(), bytes.size());
}

template <class T>
bool take(std::string_view& in, T& value) {
  if (in.size() < sizeof value) return false;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return true;
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

bool take_text(std::string_view& in, std::string_view& text) {
  std::uint32_t size = 0;
  if (!take(in, size) || in.size() < size) return false;
  text = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

/// What the batch kept of one address.
struct Kept {
  bool is_open = false;  // nothing
  Resolved resolved;
  UtcMs erase_at = 0;
};

std::optional<Kept> take_one(std::string_view& in) {
  Kept kept;
  char tag = 0;
  if (!take(in, tag)) return std::nullopt;
  if (tag == kOpen) {
    kept.is_open = true;
    return kept;
  }
  std::string_view text;
  Resolved& resolved = kept.resolved;
  if (tag == kError) {
    std::uint8_t code = 0;
    if (!take(in, code) || code > static_cast<std::uint8_t>(ErrorCode::internal) ||
        !take_text(in, text))
      return std::nullopt;
    resolved.error = Error{static_cast<ErrorCode>(code), std::string(text), {}, {}, {}};
    return kept;
  }
  std::uint8_t source = 0;
  std::int32_t calls = 0;
  if (!take(in, source) || source >= 8 || !take(in, resolved.answered_at) ||
      !take(in, resolved.expires_at) || !take(in, kept.erase_at) ||
      !take(in, resolved.cost.micro_usd) || !take(in, calls) || !take_text(in, text))
    return std::nullopt;
  resolved.source = static_cast<AnswerSource>(source);
  resolved.calls = calls;
  resolved.answer = decode_shared_answer(text);
  if (!resolved.answer) return std::nullopt;
  return kept;
}

void give(Kept kept, Asked& asked) {
  if (kept.is_open) return;
  asked.resolved = std::move(kept.resolved);
  asked.erase_at = kept.erase_at;
  asked.known.reset();
  asked.is_final = asked.is_replayed = true;
}

}  // namespace

void append_copy(const Resolved& resolved, UtcMs erase_at, std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  if (resolved.error && !resolved.answer) {
    out += kError;
    out += static_cast<char>(resolved.error->code);
    put_text(out, resolved.error->message);
  } else if (!resolved.answer || erase_at == 0) {
    out += kOpen;
  } else {
    out += kAnswer;
    out += static_cast<char>(resolved.source);
    put(out, resolved.answered_at);
    put(out, resolved.expires_at);
    put(out, erase_at);
    put(out, resolved.cost.micro_usd);
    put(out, static_cast<std::int32_t>(resolved.calls));
    const std::size_t size_at = out.size();
    put(out, std::uint32_t{0});
    append_encoded(*resolved.answer, out);
    const auto size = static_cast<std::uint32_t>(out.size() - size_at - sizeof(std::uint32_t));
    std::memcpy(out.data() + size_at, &size, sizeof size);
  }
}

std::string encode_chunk(const RowWork& work) {
  constexpr std::size_t kUsualCopy = 192;
  std::string out(1, kCodec);
  out.reserve(work.asked.size() * kUsualCopy);
  put(out, static_cast<std::uint32_t>(work.asked.size()));
  for (const Asked& asked : work.asked) {
    const auto& key = asked.slot.key.bytes;
    out.append(reinterpret_cast<const char*>(key.data()), key.size());
    if (asked.known)
      out += asked.known->copy();
    else if (asked.is_final)
      append_copy(asked.resolved, asked.erase_at, out);
    else
      out += kOpen;
  }
  return out;
}

void decode_chunk(std::string_view bytes, RowWork& work) {
  char codec = 0;
  std::uint32_t count = 0;
  if (!take(bytes, codec) || codec != kCodec || !take(bytes, count)) return;
  // Most often the addresses are the same and in the same order. They are not where keys have
  // changed, or where an address could not be read in one of the two runs.
  std::unordered_map<Slot, std::size_t, SlotHash> place_of;
  for (std::size_t i = 0; i < count; ++i) {
    Key key;
    if (!take(bytes, key.bytes)) return;
    auto kept = take_one(bytes);
    if (!kept) return;
    if (i < work.asked.size() && work.asked[i].slot.key == key) {
      give(std::move(*kept), work.asked[i]);
      continue;
    }
    if (place_of.empty())
      for (std::size_t a = 0; a < work.asked.size(); ++a) place_of.emplace(work.asked[a].slot, a);
    if (work.asked.empty()) return;
    const auto found = place_of.find({work.asked.front().slot.pool, key});
    if (found != place_of.end()) give(std::move(*kept), work.asked[found->second]);
  }
}

/// The defaults are for addresses that are known to have no town. What the second reader takes for
/// one without may have it still.
std::optional<Result<Keyed>> RowReader::key_of_row(Row& row, QueryView& query) {
  if (row.look.row) {
    row.took_defaults = row.look.row->took_defaults;
    return Result<Keyed>(row.look.row->keyed);
  }
  auto keyed = normalizer_.key_or_wait(query);
  if (keyed && *keyed && mapping_->has_text_defaults() &&
      has((*keyed)->quality, Quality::no_locality)) {
    row.took_defaults = true;
    mapping_->add_defaults(scratch_, query);
    return normalizer_.key(query);
  }
  return keyed;
}

/// Of a text alone, the text: most files are so, and it need not be copied. In one file either all
/// rows are so or none, so the two forms never meet.
Spelling RowReader::spelling_of(const QueryView& query) {
  if (mapping_->is_text_alone()) return query.text;
  spelling_.clear();
  for (const auto part : {query.text,
                          query.house_number,
                          query.road,
                          query.unit,
                          query.city,
                          query.state,
                          query.postcode,
                          query.house,
                          query.po_box,
                          query.suburb,
                          query.country_text,
                          query.language})
    put_text(spelling_, part);
  return spelling_;
}

Query query_of(const Mapping& mapping, const RowWork& work, const Asked& asked) {
  QueryView view;
  std::string scratch;
  GEONCE_EXPECTS(mapping.fill(work.chunk, work.chunk.records[asked.row], scratch, view));
  if (asked.took_defaults) mapping.add_defaults(scratch, view);
  Query query = Query::from(view);
  query.country = asked.country;
  return query;
}

void RowReader::add_building_keys(RowWork& work) {
  QueryView query;
  for (Asked& asked : work.asked) {
    if (asked.known && asked.known->cells_size > 0) continue;
    if (!mapping_->fill(work.chunk, work.chunk.records[asked.row], scratch_, query)) continue;
    if (asked.took_defaults) mapping_->add_defaults(scratch_, query);
    const auto canonical =
        asked.pre_image.empty() ? built_in_.normalize(query) : parse_pre_image(asked.pre_image);
    if (canonical) asked.building_key = normalizer_.ring().key(building_pre_image(*canonical));
  }
}

void RowReader::problem(RowWork& work, std::size_t index, std::string text) {
  work.rows[index].problem = static_cast<std::uint32_t>(work.problems.size());
  work.problems.push_back(std::move(text));
}

bool RowReader::query_of_row(RowWork& work, std::size_t index, QueryView& query) {
  const Record& record = work.chunk.records[index];
  RowRef& row = work.rows[index];
  if (record.problem == RowProblem::blank) {
    row.is_empty = true;
    return false;
  }
  if (record.problem != RowProblem::none) {
    problem(work, index, explain(record, input_->shape().columns.size()));
    return false;
  }
  if (previous_ != nullptr) {
    const auto status = previous_->status(work.chunk, record);
    if (status && *status != RowStatus::error &&
        !(retry_negative_ && *status == RowStatus::no_match)) {
      row.is_kept = true;
      return false;
    }
  }
  row.is_empty = !mapping_->fill(work.chunk, record, scratch_, query);
  return !row.is_empty;
}

void RowReader::read(RowWork& work, Pool pool, UtcMs now) {
  input_->parse(work.chunk);
  const std::size_t count = work.chunk.records.size();
  work.rows.assign(count, {});
  work.asked.clear();
  work.asked.reserve(count);
  work.problems.clear();
  work.repeated.clear();
  table_.assign(std::bit_ceil(count * 2 + 1), RowRef::kNone);

  std::vector<Row> waiting;
  for (std::size_t i = 0; i < count; ++i) {
    QueryView query;
    if (!query_of_row(work, i, query)) continue;
    Row row;
    row.index = i;
    row.look = known_->look(spelling_of(query));
    row.is_answered = row.look.row && row.look.row->is_answered(now);
    if (row.look.is_repeat && !row.is_answered) {
      KnownRow& repeated = row.repeated.emplace();
      repeated.bytes = spelling_of(query);
      repeated.spelling_size = static_cast<std::uint32_t>(repeated.bytes.size());
    }
    if (const auto keyed = key_of_row(row, query))
      file(work, row, *keyed, pool);
    else
      waiting.push_back(std::move(row));
  }
  const auto keys = normalizer_.keys_of_waiting();
  for (std::size_t w = 0; w < waiting.size(); ++w) file(work, waiting[w], keys[w], pool);
}

/// Puts a row under its address, which it may be the first of in the chunk.
void RowReader::file(RowWork& work, Row& row, const Result<Keyed>& keyed, Pool pool) {
  RowRef& place = work.rows[row.index];
  if (!keyed) {
    place.refusal = keyed.error().code;
    problem(work, row.index, keyed.error().message);
    return;
  }
  if (row.repeated) {
    row.repeated->keyed = *keyed;
    row.repeated->took_defaults = row.took_defaults;
    place.repeated = static_cast<std::uint32_t>(work.repeated.size());
    work.repeated.push_back(std::move(*row.repeated));
  }
  const Slot slot{pool, keyed->key};
  const std::size_t mask = table_.size() - 1;
  std::size_t at = SlotHash{}(slot)&mask;
  while (table_[at] != RowRef::kNone && work.asked[table_[at]].slot != slot) at = (at + 1) & mask;
  place.asked = table_[at];
  if (place.asked != RowRef::kNone) return;
  place.asked = table_[at] = static_cast<std::uint32_t>(work.asked.size());
  place.is_first = true;
  Asked& asked = work.asked.emplace_back();
  asked.slot = slot;
  asked.pre_image = keyed->pre_image;
  asked.country = keyed->country;
  asked.quality = keyed->quality;
  asked.took_defaults = row.took_defaults;
  asked.row = static_cast<std::uint32_t>(row.index);
  if (row.is_answered) {
    asked.erase_at = row.look.row->erase_at;
    asked.is_final = true;
    asked.known = std::move(row.look.row);
  }
}

}  // namespace geonce

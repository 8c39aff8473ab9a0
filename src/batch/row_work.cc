#include "batch/row_work.h"

#include <array>
#include <bit>
#include <cstring>

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

bool take_one(std::string_view& in, Asked& asked) {
  char tag = 0;
  if (!take(in, tag)) return false;
  if (tag == kOpen) return true;
  std::string_view text;
  Resolved resolved;
  if (tag == kError) {
    std::uint8_t code = 0;
    if (!take(in, code) || code > static_cast<std::uint8_t>(ErrorCode::internal) ||
        !take_text(in, text))
      return false;
    resolved.error = Error{static_cast<ErrorCode>(code), std::string(text), {}, {}, {}};
  } else {
    std::uint8_t source = 0;
    std::int32_t calls = 0;
    if (!take(in, source) || source >= 8 || !take(in, resolved.answered_at) ||
        !take(in, resolved.expires_at) || !take(in, asked.erase_at) ||
        !take(in, resolved.cost.micro_usd) || !take(in, calls) || !take_text(in, text))
      return false;
    resolved.source = static_cast<AnswerSource>(source);
    resolved.calls = calls;
    auto answer = decode_answer(text);
    if (!answer) return false;
    resolved.answer = std::make_shared<const Answer>(std::move(*answer));
  }
  asked.resolved = std::move(resolved);
  asked.known.reset();
  asked.is_final = asked.is_replayed = true;
  return true;
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
    put_text(out, encode(*resolved.answer));
  }
}

std::string encode_chunk(const RowWork& work) {
  std::string out(1, kCodec);
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
  if (!take(bytes, codec) || codec != kCodec || !take(bytes, count) || count != work.asked.size())
    return;
  for (Asked& asked : work.asked) {
    Key key;
    if (!take(bytes, key.bytes) || key != asked.slot.key || !take_one(bytes, asked)) return;
  }
}

Result<Keyed> RowReader::key_of_row(QueryView& query, bool& took_defaults) {
  auto keyed = normalizer_.key(query);
  if (keyed && mapping_->has_text_defaults() && has(keyed->quality, Quality::no_locality)) {
    took_defaults = true;
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
    if (const auto canonical = normalizer_.normalize(query))
      asked.building_key = normalizer_.ring().key(building_pre_image(*canonical));
  }
}

void RowReader::read(RowWork& work, Pool pool, UtcMs now) {
  input_->parse(work.chunk);
  const std::size_t count = work.chunk.records.size();
  work.rows.assign(count, {});
  work.asked.clear();
  work.asked.reserve(count);
  work.problems.clear();
  work.repeated.clear();
  const std::size_t slots = std::bit_ceil(count * 2 + 1);
  table_.assign(slots, RowRef::kNone);

  for (std::size_t i = 0; i < count; ++i) {
    const Record& record = work.chunk.records[i];
    RowRef& row = work.rows[i];
    const auto problem = [&](std::string text) {
      row.problem = static_cast<std::uint32_t>(work.problems.size());
      work.problems.push_back(std::move(text));
    };
    if (record.problem == RowProblem::blank) {
      row.is_empty = true;
      continue;
    }
    if (record.problem != RowProblem::none) {
      problem(explain(record, input_->shape().columns.size()));
      continue;
    }
    if (previous_ != nullptr) {
      const auto status = previous_->status(work.chunk, record);
      if (status && *status != RowStatus::error &&
          !(retry_negative_ && *status == RowStatus::no_match)) {
        row.is_kept = true;
        continue;
      }
    }
    QueryView query;
    if (!mapping_->fill(work.chunk, record, scratch_, query)) {
      row.is_empty = true;
      continue;
    }
    KnownRows::Look look = known_->look(spelling_of(query));
    const bool is_answered = look.row && look.row->is_answered(now);
    KnownRow repeated;
    if (look.is_repeat && !is_answered) {
      repeated.bytes = spelling_of(query);
      repeated.spelling_size = static_cast<std::uint32_t>(repeated.bytes.size());
    }
    bool took_defaults = look.row && look.row->took_defaults;
    const auto keyed = look.row ? Result<Keyed>(look.row->keyed) : key_of_row(query, took_defaults);
    if (!keyed) {
      row.refusal = keyed.error().code;
      problem(keyed.error().message);
      continue;
    }
    if (look.is_repeat && !is_answered) {
      repeated.keyed = *keyed;
      repeated.took_defaults = took_defaults;
      row.repeated = static_cast<std::uint32_t>(work.repeated.size());
      work.repeated.push_back(std::move(repeated));
    }
    const Slot slot{pool, keyed->key};
    std::size_t at = SlotHash{}(slot) & (slots - 1);
    while (table_[at] != RowRef::kNone && work.asked[table_[at]].slot != slot)
      at = (at + 1) & (slots - 1);
    if (table_[at] == RowRef::kNone) {
      table_[at] = static_cast<std::uint32_t>(work.asked.size());
      row.is_first = true;
      Asked& asked = work.asked.emplace_back();
      asked.slot = slot;
      asked.former = keyed->former;
      asked.country = keyed->country;
      asked.quality = keyed->quality;
      asked.took_defaults = took_defaults;
      asked.row = static_cast<std::uint32_t>(i);
      if (is_answered) {
        asked.erase_at = look.row->erase_at;
        asked.is_final = true;
        asked.known = std::move(look.row);
      }
    }
    row.asked = table_[at];
  }
}

}  // namespace geonce

#include "batch/ndjson.h"

#include <algorithm>

#include "batch/encoding.h"

namespace geonce {
namespace {

constexpr int kMaxDepth = 128;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads JSON without building it: the spelling of each value is what we want to keep.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool line(std::vector<JsonMember>& members) {
    return object(&members, 0) && (skip_blanks(), at_ == text_.size());
  }

 private:
  [[nodiscard]] bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!is_at(c)) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (is_at(' ') || is_at('\t') || is_at('\r') || is_at('\n')) ++at_;
  }

  bool object(std::vector<JsonMember>* members, int depth) {
    skip_blanks();
    if (!take('{')) return false;
    skip_blanks();
    if (take('}')) return true;
    do {
      skip_blanks();
      const std::size_t name = at_;
      if (!string()) return false;
      const std::size_t name_end = at_;
      skip_blanks();
      if (!take(':')) return false;
      skip_blanks();
      const std::size_t begin = at_;
      if (!value(depth + 1)) return false;
      if (members != nullptr)
        members->push_back(
            {text_.substr(name + 1, name_end - name - 2), text_.substr(begin, at_ - begin)});
      skip_blanks();
    } while (take(','));
    return take('}');
  }

  bool array(int depth) {
    ++at_;
    skip_blanks();
    if (take(']')) return true;
    do {
      skip_blanks();
      if (!value(depth + 1)) return false;
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  bool value(int depth) {
    if (at_ == text_.size() || depth > kMaxDepth) return false;
    switch (text_[at_]) {
      case '"':
        return string();
      case '{':
        return object(nullptr, depth);
      case '[':
        return array(depth);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  bool digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > begin;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }

  bool escape() {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    for (int i = 0; i < 4; ++i)
      if (at_ == text_.size() || hex_value(text_[at_++]) < 0) return false;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The inside of a string that was scanned: escapes are well formed.
void append_unescaped(std::string_view inside, std::string& out) {
  const auto unit = [&](std::size_t at) {
    char32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 4 | static_cast<char32_t>(hex_value(inside[at + i]));
    return value;
  };
  for (std::size_t at = 0; at < inside.size();) {
    const char c = inside[at++];
    if (c != '\\') {
      out += c;
      continue;
    }
    switch (const char escaped = inside[at++]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        char32_t code = unit(at);
        at += 4;
        const bool is_high = code >= 0xD800 && code < 0xDC00;
        if (is_high && inside.substr(at, 2) == "\\u") {
          const char32_t low = unit(at + 2);
          if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
          }
        }
        const bool is_lone = code >= 0xD800 && code < 0xE000;
        append_utf8(is_lone ? 0xFFFD : code, out);
        break;
      }
      default:
        out += escaped;
        break;
    }
  }
}

bool is_string(std::string_view raw_value) { return raw_value.starts_with('"'); }
std::string_view inside(std::string_view raw_string) {
  return raw_string.substr(1, raw_string.size() - 2);
}
bool has_escape(std::string_view text) { return text.find('\\') != std::string_view::npos; }

bool is_name(std::string_view raw_name, std::string_view column) {
  if (!has_escape(raw_name)) return raw_name == column;
  std::string name;
  append_unescaped(raw_name, name);
  return name == column;
}

// Members mostly come in the order of the columns: look there first.
std::size_t column_of(std::string_view raw_name,
                      std::size_t likely,
                      const std::vector<std::string>& columns) {
  if (likely < columns.size() && is_name(raw_name, columns[likely])) return likely;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (is_name(raw_name, columns[i])) return i;
  return columns.size();
}

// Appends one field per column. False: a value has a NUL in it.
bool add_fields(Chunk& chunk,
                const std::vector<JsonMember>& members,
                const std::vector<std::string>& columns) {
  const std::size_t first = chunk.fields.size();
  chunk.fields.resize(first + columns.size());
  bool is_clean = true;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t column = column_of(members[i].name, i, columns);
    if (column == columns.size()) continue;
    FieldSpan span;
    std::string_view value = members[i].value;
    if (is_string(value) && has_escape(value)) {
      span.is_unescaped = 1;
      span.text_begin = static_cast<std::uint32_t>(chunk.unescaped.size());
      append_json_text(value, chunk.unescaped);
      const std::string_view text = std::string_view(chunk.unescaped).substr(span.text_begin);
      span.text_size = static_cast<std::uint32_t>(text.size()) & 0x7FFFFFFFU;
      if (text.find('\0') != std::string_view::npos) is_clean = false;
    } else if (value != "null") {
      if (is_string(value)) value = inside(value);
      span.text_begin = static_cast<std::uint32_t>(value.data() - chunk.bytes.data());
      span.text_size = static_cast<std::uint32_t>(value.size()) & 0x7FFFFFFFU;
    }
    chunk.fields[first + column] = span;
  }
  return is_clean;
}

// Calls `line(begin, content_end, end)` for every line.
template <class Line>
void for_each_line(std::string_view text, Line line) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t found = text.find('\n', begin);
    const std::size_t end = found == std::string_view::npos ? text.size() : found + 1;
    std::size_t content_end = found == std::string_view::npos ? end : found;
    if (content_end < end && content_end > begin && text[content_end - 1] == '\r') --content_end;
    line(begin, content_end, end);
    begin = end;
  }
}

}  // namespace

bool scan_json_object(std::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  return Scanner(line).line(members);
}

void append_json_text(std::string_view raw_value, std::string& out) {
  if (is_string(raw_value))
    append_unescaped(inside(raw_value), out);
  else if (raw_value != "null")
    out += raw_value;
}

void append_json_string(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 0xF];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::vector<std::string> json_columns(std::string_view sample, bool whole) {
  std::vector<std::string> columns;
  std::vector<JsonMember> members;
  for_each_line(sample, [&](std::size_t begin, std::size_t content_end, std::size_t end) {
    if (content_end == end && !whole) return;  // cut off
    if (!scan_json_object(sample.substr(begin, content_end - begin), members)) return;
    for (const JsonMember& member : members) {
      std::string name;
      append_unescaped(member.name, name);
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(std::move(name));
    }
  });
  return columns;
}

void parse_ndjson(Chunk& chunk, const std::vector<std::string>& columns) {
  chunk.records.clear();
  chunk.fields.clear();
  chunk.unescaped.clear();
  chunk.records.reserve(chunk.row_count);
  std::vector<JsonMember> members;
  const std::string_view text = chunk.bytes;
  for_each_line(text, [&](std::size_t begin, std::size_t content_end, std::size_t end) {
    Record record;
    record.begin = static_cast<std::uint32_t>(begin);
    record.end = static_cast<std::uint32_t>(end);
    record.line_end_size = static_cast<std::uint8_t>(end - content_end);
    record.first_field = static_cast<std::uint32_t>(chunk.fields.size());
    const std::string_view line = text.substr(begin, content_end - begin);
    if (scan_json_object(line, members)) {
      if (!add_fields(chunk, members, columns)) record.problem = RowProblem::nul_byte;
      record.field_count = static_cast<std::uint32_t>(columns.size());
    } else {
      const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
      record.problem = is_blank ? RowProblem::blank : RowProblem::not_json;
    }
    chunk.records.push_back(record);
  });
}

}  // namespace geonce

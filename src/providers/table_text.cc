#include "providers/table_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace geonce {

std::string csv_line(const Cells& cells, bool quotes) {
  std::string line;
  bool first = true;
  for (const auto& cell : cells) {
    if (!first) line += ',';
    first = false;
    std::string clean = cell;
    for (char& c : clean)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || (!quotes && (c == ',' || c == '"')))
        c = ' ';
    if (clean.find_first_of(",\"") == std::string::npos) {
      line += clean;
      continue;
    }
    line += '"';
    for (const char c : clean) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  return line + "\r\n";
}

std::optional<std::vector<Cells>> parse_csv(std::string_view text) {
  std::vector<Cells> rows;
  Cells row;
  std::string cell;
  bool was_quoted = false;
  const auto end_row = [&] {
    if (!row.empty() || !cell.empty() || was_quoted) {
      row.push_back(std::move(cell));
      rows.push_back(std::move(row));
    }
    row.clear();
    cell.clear();
    was_quoted = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (was_quoted) return std::nullopt;
      if (!cell.empty()) {  // a quote inside a cell that has none around it is a character
        cell += c;
        continue;
      }
      was_quoted = true;
      for (++i;; ++i) {
        const auto quote = text.find('"', i);
        if (quote == std::string_view::npos) return std::nullopt;
        cell += text.substr(i, quote - i);
        i = quote + 1;
        if (i >= text.size() || text[i] != '"') break;
        cell += '"';
      }
      --i;  // the loop steps on to what stands behind the closing quote
    } else if (c == ',') {
      row.push_back(std::move(cell));
      cell.clear();
      was_quoted = false;
    } else if (c == '\n' || c == '\r') {
      end_row();
    } else if (was_quoted) {
      return std::nullopt;
    } else {
      cell += c;
    }
  }
  if (was_quoted)
    end_row();  // else the last cell has no end: it may have been cut, even to nothing
  return rows;
}

MultipartForm multipart(const std::vector<FormPart>& parts) {
  std::string boundary;
  for (std::uint32_t salt = 0;; ++salt) {
    boundary = fmt::format("geonce-form-{:08x}", salt * 2'654'435'761U);
    if (std::ranges::none_of(parts, [&](const FormPart& part) {
          return part.content.find(boundary) != std::string::npos;
        }))
      break;
  }
  MultipartForm form;
  form.content_type = "multipart/form-data; boundary=" + boundary;
  for (const FormPart& part : parts) {
    form.body +=
        fmt::format("--{}\r\nContent-Disposition: form-data; name=\"{}\"", boundary, part.name);
    if (!part.file_name.empty())
      form.body +=
          fmt::format("; filename=\"{}\"\r\nContent-Type: text/csv; charset=utf-8", part.file_name);
    form.body += "\r\n\r\n";
    form.body += part.content;
    form.body += "\r\n";
  }
  form.body += fmt::format("--{}--\r\n", boundary);
  return form;
}

std::string utf8_from_latin1(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0U | (byte >> 6U));
      out += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return out;
}

}  // namespace geonce

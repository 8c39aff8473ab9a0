#include "batch/columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/near_names.h"

namespace geonce {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_word_byte(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool has_words(std::string_view text) { return std::ranges::any_of(text, is_word_byte); }

std::string listed(std::span<const std::string> columns) {
  std::string list;
  for (std::size_t i = 0; i < columns.size(); ++i)
    list += fmt::format("{}{} {}", i == 0 ? "" : ", ", i + 1, columns[i]);
  return list;
}

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct FieldName {
  std::string_view name;
  std::string_view QueryView::*member;
};
// How the fields of a mapping may be called; the first name of a member is the one we show.
constexpr std::array<FieldName, 18> kFieldNames{{
    {"house_number", &QueryView::house_number},
    {"number", &QueryView::house_number},
    {"nr", &QueryView::house_number},
    {"street", &QueryView::road},
    {"road", &QueryView::road},
    {"unit", &QueryView::unit},
    {"city", &QueryView::city},
    {"state", &QueryView::state},
    {"region", &QueryView::state},
    {"postcode", &QueryView::postcode},
    {"postal_code", &QueryView::postcode},
    {"zip", &QueryView::postcode},
    {"country", &QueryView::country_text},
    {"building", &QueryView::house},
    {"house", &QueryView::house},
    {"po_box", &QueryView::po_box},
    {"suburb", &QueryView::suburb},
    {"language", &QueryView::language},
}};

// What columns are called in the files people have, without case, blanks and marks. Text: the whole
// address in one cell, or the street line of it when there is a city column too.
struct Guess {
  std::string_view QueryView::*member;
  std::string_view words;  // set apart by blanks, with one in front and behind
};
constexpr std::array<Guess, 8> kGuesses{{
    {&QueryView::text,
     " address addr fulladdress addressfull completeaddress formattedaddress mailingaddress "
     "postaladdress siteaddress propertyaddress locationaddress streetaddress address1 "
     "addressline1 "
     "addressline adresse adressecomplete anschrift adres indirizzo direccion endereco adress "},
    {&QueryView::house_number,
     " housenumber housenum houseno housenr streetnumber streetno number num nr hausnummer hausnr "
     "husnummer husnr numero numerovoie huisnummer civico "},
    {&QueryView::road,
     " street streetname road roadname strasse straße str rue voie nomvoie calle via straat gate "
     "gata "
     "vei adressenavn "},
    {&QueryView::unit, " unit unitnumber apt apartment suite flat address2 addressline2 "},
    {&QueryView::city,
     " city cityname town locality municipality placename ort stadt ville commune ciudad comune "
     "citta "
     "città plaats woonplaats poststed postort "},
    {&QueryView::state, " state stateabbr statecode province provincecode region bundesland "},
    {&QueryView::postcode,
     " postcode postalcode zip zipcode zip5 plz postleitzahl codepostal cp cap postnummer postnr "
     "codigopostal "},
    {&QueryView::country_text, " country countrycode countryname countryiso land pays pais paese "},
}};

std::string bare(std::string_view name) {
  std::string word;
  for (const char c : name)
    if (is_word_byte(c)) word += lower(c);
  return word;
}

constexpr std::string_view kExample =
    "for example --address address, --address '{street} {nr}, {zip} {city}', "
    "or --map house_number=nr,street=street,city=city,postcode=zip";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t found = text.find(at);
    parts.push_back(trimmed(text.substr(0, found)));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + 1);
  }
}

}  // namespace

Result<std::size_t> find_column(std::string_view wanted, std::span<const std::string> columns) {
  const auto find = [&](auto equals) -> Result<std::optional<std::size_t>> {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (equals(columns[i])) found.push_back(i);
    if (found.size() > 1)
      return fail(ErrorCode::usage,
                  "there are {} columns named '{}'; use the number of the one you mean: {}",
                  found.size(),
                  wanted,
                  fmt::format("#{} or #{}", found[0] + 1, found[1] + 1));
    if (found.empty()) return std::optional<std::size_t>{};
    return std::optional(found.front());
  };
  wanted = trimmed(wanted);
  const auto exact = find([&](std::string_view name) { return name == wanted; });
  if (!exact) return fail(exact.error());
  if (*exact) return **exact;
  const auto loose = find([&](std::string_view name) { return equal_in_any_case(name, wanted); });
  if (!loose) return fail(loose.error());
  if (*loose) return **loose;
  const auto number = parse_number(wanted.starts_with('#') ? wanted.substr(1) : wanted);
  if (number && *number >= 1 && *number <= columns.size()) return *number - 1;
  return fail(ErrorCode::usage,
              "there is no column '{}'{}; there are: {}",
              wanted,
              did_you_mean(wanted, columns),
              listed(columns));
}

Result<Mapping> Mapping::make(const MappingOptions& options, std::span<const std::string> columns) {
  Mapping mapping;
  mapping.names_.assign(columns.begin(), columns.end());
  mapping.default_country_ = options.default_country;
  mapping.default_city_ = trimmed(options.default_city);
  mapping.default_state_ = trimmed(options.default_state);
  mapping.language_ = options.language;
  Result<void> done;
  if (options.address.empty() && options.fields.empty()) {
    done = mapping.guess();
  } else {
    done = mapping.read_address(options.address);
    if (done) done = mapping.read_fields(options.fields);
  }
  if (!done) return fail(done.error());
  return mapping;
}

Result<void> Mapping::read_address(std::string_view address) {
  address = trimmed(address);
  if (address.empty()) return {};
  const bool is_name = std::ranges::find(names_, address) != names_.end();
  if (!is_name && address.find('{') != std::string_view::npos) return read_template(address);
  const auto wanted = is_name ? std::vector{address} : split(address, ',');
  for (const std::string_view name : wanted) {
    const auto column = find_column(name, names_);
    if (!column) return fail(column.error());
    text_.push_back({text_.empty() ? "" : ", ", *column});
  }
  return {};
}

Result<void> Mapping::read_template(std::string_view text) {
  std::string literal;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if ((c == '{' || c == '}') && text.starts_with(c)) {
      literal += c;
      text.remove_prefix(1);
    } else if (c == '{') {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos)
        return fail(ErrorCode::usage, "the address template has a {{ without its }}");
      const auto column = find_column(text.substr(0, end), names_);
      if (!column) return fail(column.error());
      text_.push_back({std::exchange(literal, {}), *column});
      text.remove_prefix(end + 1);
    } else if (c == '}') {
      return fail(ErrorCode::usage, "the address template has a }} without its {{");
    } else {
      literal += c;
    }
  }
  if (text_.empty()) return fail(ErrorCode::usage, "the address template names no column");
  text_after_ = literal;
  return {};
}

Result<void> Mapping::read_fields(std::string_view fields) {
  fields = trimmed(fields);
  if (fields.empty()) return {};
  for (const std::string_view part : split(fields, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    const auto* const known = std::ranges::find(kFieldNames, name, &FieldName::name);
    if (equals == std::string_view::npos || known == kFieldNames.end())
      return fail(ErrorCode::usage,
                  "'{}' is not FIELD=COLUMN with a field out of house_number, street, unit, city, "
                  "state, postcode, country, building, po_box, suburb, language",
                  part);
    const auto column = find_column(part.substr(equals + 1), names_);
    if (!column) return fail(column.error());
    if (auto added = add_field(known->member, *column); !added) return added;
  }
  return {};
}

Result<void> Mapping::add_field(std::string_view QueryView::*member, std::size_t column) {
  const auto* const shown = std::ranges::find(kFieldNames, member, &FieldName::member);
  if (std::ranges::find(fields_, member, &Field::member) != fields_.end())
    return fail(ErrorCode::usage, "the field {} is given two columns", shown->name);
  fields_.push_back({member, shown->name, column});
  return {};
}

// Certain is: one column for the address, or a street with a city or postcode; no role twice.
Result<void> Mapping::guess() {
  is_guess_ = true;
  const auto give_up = [&](std::string_view why) {
    return fail(ErrorCode::usage,
                "{}; say where the address stands, {}. The columns are: {}",
                why,
                kExample,
                listed(names_));
  };
  std::array<std::optional<std::size_t>, kGuesses.size()> found;
  for (std::size_t column = 0; column < names_.size(); ++column) {
    const std::string word = fmt::format(" {} ", bare(names_[column]));
    for (std::size_t i = 0; i < kGuesses.size(); ++i) {
      if (word.size() <= 2 || kGuesses[i].words.find(word) == std::string_view::npos) continue;
      if (found[i])
        return give_up(fmt::format(
            "columns {} and {} could both be meant", names_[*found[i]], names_[column]));
      found[i] = column;
    }
  }
  const auto& text = found[0];
  const auto& house_number = found[1];
  const auto& road = found[2];
  const auto& city = found[4];
  const auto& postcode = found[6];
  if (text) {
    text_.push_back({"", *text});
  } else if (!road || !(city || postcode)) {
    return give_up("no column is certain to hold the address");
  }
  // Beside an address column, a street column says the same once more, or something else.
  if (text && (road || house_number)) return give_up("there are both address and street columns");
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (!found[i]) continue;
    auto added = add_field(kGuesses[i].member, *found[i]);
    if (!added) return added;
  }
  return {};
}

bool Mapping::fill(const Chunk& chunk,
                   const Record& record,
                   std::string& scratch,
                   QueryView& query) const {
  query = {};
  query.country = default_country_;
  query.language = language_;
  if (text_.size() == 1 && text_.front().before.empty() && text_after_.empty())
    query.text = trimmed(chunk.field(record, text_.front().column));
  else if (!text_.empty())
    query.text = render(chunk, record, scratch);
  bool has_address = !query.text.empty();
  for (const Field& field : fields_) {
    const std::string_view cell = trimmed(chunk.field(record, field.column));
    if (cell.empty()) continue;
    query.*field.member = cell;
    if (field.member != &QueryView::country_text && field.member != &QueryView::language)
      has_address = true;
  }
  if (!has_address) return false;
  if (text_.empty()) {
    if (query.city.empty()) query.city = default_city_;
    if (query.state.empty()) query.state = default_state_;
  }
  return true;
}

// An empty cell takes the text in front of it along; of the separators skipped that way the comma
// stays.
std::string_view Mapping::render(const Chunk& chunk,
                                 const Record& record,
                                 std::string& scratch) const {
  scratch.clear();
  std::string_view separator;
  const auto is_stronger = [](std::string_view a, std::string_view b) {
    return !has_words(a) && (b.empty() || (a.find(',') != std::string_view::npos &&
                                           b.find(',') == std::string_view::npos));
  };
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const Piece& piece = text_[i];
    const std::string_view cell = trimmed(chunk.field(record, piece.column));
    if (cell.empty()) {
      if (!scratch.empty() && is_stronger(piece.before, separator)) separator = piece.before;
      continue;
    }
    std::string_view before = piece.before;
    if (scratch.empty()) {
      if (i > 0) before.remove_prefix(std::min(before.find_first_not_of(" ,;/-|"), before.size()));
    } else if (!has_words(before) && !separator.empty() && is_stronger(separator, before)) {
      before = separator;
    }
    scratch += before;
    scratch += cell;
    separator = {};
  }
  if (!scratch.empty()) scratch += text_after_;
  return scratch;
}

void Mapping::add_defaults(std::string& scratch, QueryView& query) const {
  if (query.text.data() != scratch.data()) scratch.assign(query.text);
  if (query.city.empty() && !default_city_.empty()) scratch += ", " + default_city_;
  if (query.state.empty() && !default_state_.empty()) scratch += ", " + default_state_;
  query.text = scratch;
}

std::string Mapping::describe() const {
  std::string text;
  const auto column = [&](std::size_t index) {
    return fmt::format("#{} {}", index + 1, names_[index]);
  };
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : "; ", name, value);
  };
  std::string address;
  for (const Piece& piece : text_)
    address += fmt::format("{}{{{}}}", piece.before, column(piece.column));
  add("address", address + text_after_);
  for (const Field& field : fields_) add(field.name, column(field.column));
  if (default_country_.is_known()) add("default country", default_country_.code());
  add("default city", default_city_);
  add("default state", default_state_);
  add("language", language_);
  return text;
}

Result<PreviousRows> PreviousRows::find(std::span<const std::string> columns,
                                        std::string_view prefix) {
  const std::string name =
      fmt::format("{}{}", prefix, result_columns(ColumnSet::short_set).front());
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end())
    return fail(ErrorCode::usage,
                "--only-missing needs a file that geonce wrote, with the column {}; there are: {}",
                name,
                listed(columns));
  return PreviousRows(static_cast<std::size_t>(found - columns.begin()));
}

std::optional<RowStatus> PreviousRows::status(const Chunk& chunk, const Record& record) const {
  return parse_row_status(trimmed(chunk.field(record, column_)));
}

}  // namespace geonce

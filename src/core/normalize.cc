#include "core/normalize.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/normalize_grammar.h"
#include "core/normalize_north_america.h"
#include "core/normalize_world.h"
#include "core/second_reading.h"
#include "core/spellings.h"

namespace geonce {
namespace {

constexpr std::size_t kLongestAddress = 2048;  // bytes, all fields together
/// Compatibility letters grow: one of 3 bytes may stand for a sentence of 33.
constexpr std::size_t kLongestPreImage = 16 * kLongestAddress;

/// Territories and towns of a country that are called like another country: `Atlanta, Georgia` and
/// `12 Main St, Lebanon` contradict no hint of `US`.
struct Namesakes {
  std::string_view hint;
  std::string_view countries;
};
constexpr std::array kNamesakes{
    Namesakes{
        "US",
        "GE LB MX PE CU NO PL JO JM CN NL DK SE EG PS PA CY GR TR BR CL IE MC GD MT IT VE PR VI GU "
        "AS MP UM CH"},
    Namesakes{"FR", "GP MQ GF RE YT PM BL MF WF PF NC MC"},
    Namesakes{"GB", "IM JE GG GI"},
    Namesakes{"CN", "HK MO TW"},
    Namesakes{"NL", "AW CW SX BQ"},
    Namesakes{"DK", "FO GL"},
    Namesakes{"FI", "AX"},
    Namesakes{"AU", "CX CC NF"},
    Namesakes{"NZ", "CK NU TK"},
    Namesakes{"JO", "OM"},  // Amman
};
bool is_namesake(Country hint, Country named) {
  for (const auto& row : kNamesakes)
    if (row.hint == hint.code()) return row.countries.find(named.code()) != std::string_view::npos;
  return false;
}

/// Here a town is called like the country, so the name at the end of an address says more than
/// that. Algiers and Tunis are, in Arabic.
bool has_a_town_of_its_name(Country country, std::string_view name) {
  constexpr std::string_view kCountries = "SG LU MC SM PA GT MX KW DJ AD HK MO GI VA";
  constexpr std::string_view kInArabic = "DZ TN";
  const bool is_latin = static_cast<unsigned char>(name.front()) < 0xD8;
  return kCountries.find(country.code()) != std::string_view::npos ||
         (!is_latin && kInArabic.find(country.code()) != std::string_view::npos);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_code_of(std::string_view text, Country country) {
  const auto code = country.code();
  return text.size() == 2 && text[0] == lower(code[0]) && text[1] == lower(code[1]);
}

/// The names of a language or script are no address: `language=fr`.
Result<void> read_language(std::string_view language, std::string& options) {
  if (language.empty()) return {};
  options = "language=";
  for (const char c : language) {
    const char small = lower(c);
    const bool allowed = (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-';
    if (!allowed || options.size() > 60)
      return fail(ErrorCode::invalid_address,
                  "the language is not a language tag such as fr or pt-BR");
    options += small;
  }
  return {};
}

/// A text in tokens.
struct Reading {
  Tokens tokens;
  Parts parts;
};

bool is_pre_image(std::string_view text) { return text.starts_with("geonce\x1F"); }

void clear(Canonical& canonical) {
  canonical.mode = Mode::unparsed;
  canonical.quality = Quality::none;
  for (auto* field : {&canonical.admin,
                      &canonical.postcode,
                      &canonical.locality,
                      &canonical.road,
                      &canonical.house,
                      &canonical.unit,
                      &canonical.box,
                      &canonical.extra,
                      &canonical.options,
                      &canonical.backend})
    field->clear();
}

/// `…, NV 89501 USA`: behind a postcode or state, or by a name that no street has.
bool may_end_without_comma(const Token& before, std::string_view name, Country hint) {
  if (name == "uk" && hint == Country('N', 'L')) return false;  // 8925 UK is a postcode
  if (name == "usa" || name == "united states of america" || name == "uk") return true;
  if (before.has_digit() && before.size() >= 3) return true;
  const auto code = hint.code();
  const bool has_short_states = code == "US" || code == "CA" || code == "AU";
  return has_short_states && !before.has_digit() && before.size() <= 3;
}

/// `88 Nathan Road, Tsim Sha Tsui, Hong Kong`: the territory is one town, and tokens [first, begin)
/// end in a segment that names a part of it.
bool says_no_more(const Tokens& tokens, std::size_t first, std::size_t begin, Country country) {
  constexpr std::string_view kTerritories = "HK MO SG";
  if (kTerritories.find(country.code()) == std::string_view::npos || !tokens[begin].after_break)
    return false;
  for (std::size_t i = begin; i > first; --i) {
    if (tokens[i - 1].has_digit()) return false;
    if (tokens[i - 1].after_break) return i - 1 > first;
  }
  return false;
}

/// `99423 Weimar Deutschland`: tokens [segment, at) end in a postcode and its town, and the country
/// behind them is the one that was given. Not `93290 Tremblay en France`.
bool ends_a_town_line(const Tokens& tokens, std::size_t segment, std::size_t at, Country country) {
  constexpr std::string_view kCountries = "DE AT CH FR BE NL IT ES PT SE NO DK FI CZ";
  constexpr std::array<std::string_view, 14> kJoins{
      "en", "de", "du", "la", "le", "di", "do", "da", "del", "den", "het", "of", "im", "von"};
  constexpr std::size_t kFewestDigits = 4;
  if (kCountries.find(country.code()) == std::string_view::npos ||
      std::ranges::find(kJoins, tokens.view(at - 1)) != kJoins.end())
    return false;
  std::size_t town = at;
  while (town > segment && !tokens[town - 1].has_digit()) --town;
  if (town == at || town == segment) return false;
  const Token& last = tokens[town - 1];
  const bool in_two = last.size() == 2 || last.size() == 3;  // 413 14, 120 00
  return last.size() >= kFewestDigits ||
         (in_two && town >= segment + 2 && tokens[town - 2].is_number() &&
          tokens[town - 2].size() == 3);
}

}  // namespace

struct Normalizer::State {
  TextFolder folder;
  std::string folded;
  std::string together;  // fields put together
  Reading source;        // the query
  NorthAmericanGrammar north_america;
  WorldGrammar world;
  PlainGrammar plain;
  Canonical out;
  std::string bytes;  // the pre-image
  Country rules_country;
  bool rules_known = false;  // the next two are those of rules_country
  Diacritics diacritics = Diacritics::keep;
  TokenRules rules;
  bool country_unifies = false;

  Result<void> run(const QueryView& query);
  Result<void> take_pre_image(const QueryView& query);
  Result<void> read(const QueryView& query, Country country);
  Result<void> read_field(std::string_view field, Range& range);
  Result<Country> take_country(Country hint);
  [[nodiscard]] Country named(std::string_view name);
  void free_text();
};

Result<void> Normalizer::State::read_field(std::string_view field, Range& range) {
  Tokens& tokens = source.tokens;
  range.first = range.last = tokens.size();
  if (field.empty()) return {};
  if (auto done = folder.fold(field, diacritics, folded); !done) return done;
  if (country_unifies) unify_spellings(rules_country, folded);
  tokenize(folded, rules, tokens);
  range.last = tokens.size();
  return {};
}

Result<void> Normalizer::State::read(const QueryView& query, Country country) {
  source.tokens.clear();
  Parts& parts = source.parts;
  if (!rules_known || country != rules_country) {
    diacritics = diacritics_of(country);
    rules = token_rules_of(country);
    country_unifies = has_spellings_to_unify(country);
    rules_country = country;
    rules_known = true;
  }
  if (auto done = read_field(query.text, parts.text); !done) return done;
  if (!query.is_structured()) {
    const Range text = parts.text;
    parts = {};
    parts.text = text;
    return {};
  }
  const std::array<std::pair<std::string_view, Range*>, 9> fields{
      {{query.house_number, &parts.house_number},
       {query.road, &parts.road},
       {query.unit, &parts.unit},
       {query.city, &parts.city},
       {query.state, &parts.state},
       {query.postcode, &parts.postcode},
       {query.house, &parts.house},
       {query.po_box, &parts.po_box},
       {query.suburb, &parts.suburb}}};
  for (const auto& [field, range] : fields)
    if (auto done = read_field(field, *range); !done) return done;
  return {};
}

Country Normalizer::State::named(std::string_view name) {
  if (const auto country = country_named(name); country.is_known()) return country;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x80) continue;
    std::string without_marks;
    if (!folder.fold(name, Diacritics::latin, without_marks)) return {};
    return country_named(without_marks);
  }
  return {};
}

/// Takes a country off the end of the free text as long as there is one.
Result<Country> Normalizer::State::take_country(Country hint) {
  constexpr std::size_t kLongestName = 7;
  const Tokens& tokens = source.tokens;
  auto& [first, last] = source.parts.text;
  for (;;) {
    if (last - first < 2) return hint;
    std::size_t segment = last - 1;
    while (segment > first && !tokens[segment].after_break) --segment;
    Country found;
    std::size_t begin = last;
    if (!tokens[last - 1].has_digit()) {
      for (std::size_t length = std::min(kLongestName, last - segment); length >= 1; --length) {
        const std::size_t at = last - length;
        if (at == first) continue;
        const bool whole = at == segment;
        const auto name = tokens.view(at, last);
        found = named(name);
        if (!found.is_known() && hint.is_known() && is_code_of(name, hint)) found = hint;
        const bool may_end = whole || may_end_without_comma(tokens[at - 1], name, hint) ||
                             (found == hint && ends_a_town_line(tokens, segment, at, hint));
        if (!may_end) found = Country();
        if (found.is_known()) {
          begin = at;
          break;
        }
      }
    }
    if (!found.is_known()) return hint;
    if (hint.is_known() && found != hint) {
      if (is_namesake(hint, found)) return hint;
      return fail(ErrorCode::country_conflict,
                  "the address names {} but the country given is {}",
                  found.code(),
                  hint.code());
    }
    if (!hint.is_known() && found == Country('G', 'E')) return hint;  // Atlanta, Georgia
    hint = found;
    if (has_a_town_of_its_name(found, tokens.view(begin, last)) &&
        !says_no_more(tokens, first, begin, found))
      return hint;
    last = begin;
  }
}

void Normalizer::State::free_text() {
  clear(out);
  Tokens& tokens = source.tokens;
  const Range text = source.parts.text;
  if (NorthAmericanGrammar::speaks_for(out.country)) {
    north_america.free_text(tokens, text, out);
    return;
  }
  if (WorldGrammar::speaks_for(out.country) && world.free_text(tokens, text, out)) return;
  clear(out);
  plain.free_text(tokens, text, out);
}

/// An address that stands in its canonical parts already.
Result<void> Normalizer::State::take_pre_image(const QueryView& query) {
  // Programs that cut white space off the end of a line cut the empty parts off as well.
  constexpr std::ptrdiff_t kSeparators = 12;
  bytes = query.text;
  while (std::ranges::count(bytes, '\x1F') < kSeparators) bytes += '\x1F';
  auto canonical = parse_pre_image(bytes);
  if (!canonical) return fail(canonical.error());
  const Country named = canonical->country;
  if (query.country.is_known() && named != query.country)
    return fail(ErrorCode::country_conflict,
                "the address names {} but the country given is {}",
                named.code(),
                query.country.code());
  out = std::move(*canonical);
  return {};
}

Result<void> Normalizer::State::run(const QueryView& query) {
  const std::size_t size = query.text.size() + query.house_number.size() + query.road.size() +
                           query.unit.size() + query.city.size() + query.state.size() +
                           query.postcode.size() + query.house.size() + query.po_box.size() +
                           query.suburb.size();
  const bool is_in_parts = is_pre_image(query.text) && !query.is_structured();
  const std::size_t longest = is_in_parts ? kLongestPreImage : kLongestAddress;
  if (size > longest)
    return fail(ErrorCode::invalid_address, "the address is longer than {} bytes", longest);
  if (is_in_parts) return take_pre_image(query);

  Country country = query.country;
  if (!query.country_text.empty()) {
    auto named_country = parse_country(query.country_text);
    if (!named_country) return fail(named_country.error());
    if (named_country->is_known()) country = *named_country;
  }
  // The country decides how letters are read, and the text may name it: then it is read again.
  for (bool as_named = false; !as_named;) {
    if (auto done = read(query, country); !done) return done;
    auto found = take_country(country);
    if (!found) return fail(found.error());
    as_named = *found == country;
    country = *found;
  }
  if (source.tokens.size() == 0) return fail(ErrorCode::invalid_address, "the address is empty");
  bool in_fields = query.is_structured();
  if (in_fields && WorldGrammar::reads_as_one(query, country)) {
    QueryView text;
    together = WorldGrammar::in_one_line(query, country);
    text.text = together;
    if (auto done = read(text, country); !done) return done;
    in_fields = false;
  }

  out.country = country;
  if (in_fields) {
    clear(out);
    if (WorldGrammar::speaks_for(country)) {
      if (auto done = world.fields(source.tokens, source.parts, out); !done) return done;
    } else if (NorthAmericanGrammar::speaks_for(country)) {
      if (auto done = north_america.fields(source.tokens, source.parts, out); !done) return done;
    } else {
      PlainGrammar::fields(source.tokens, source.parts, out);
    }
  } else {
    free_text();
  }
  if (!query.country_text.empty())  // Newport is in Wales and in England
    append_segment(out.extra, nation_of_the_uk(query.country_text));
  out.quality = quality_of(out);
  return read_language(query.language, out.options);
}

Normalizer::Normalizer(const KeyRing& ring, SecondReader* second)
    : ring_(&ring),
      state_(std::make_unique<State>()),
      second_(second == nullptr ? nullptr : std::make_unique<SecondReading>(*second)) {}
Normalizer::~Normalizer() = default;

/// A pre-image says already what read it, and fields say what they are.
bool Normalizer::is_for_second(const QueryView& query) const {
  return second_ != nullptr && state_->out.mode == Mode::unparsed && !query.is_structured() &&
         !is_pre_image(query.text);
}

Result<Canonical> Normalizer::normalize(const QueryView& query) {
  if (auto done = state_->run(query); !done) return fail(done.error());
  if (is_for_second(query)) return std::move(second_->read({&state_->out, 1}).front());
  return state_->out;
}

std::string Normalizer::canonical_text(const Canonical& canonical) {
  std::string line = one_line(canonical);
  QueryView query;
  query.text = line;
  query.country = canonical.country;
  const auto again = normalize(query);
  return again && *again == canonical ? line : pre_image(canonical);
}

Keyed Normalizer::keyed(const Canonical& canonical) {
  std::string& bytes = state_->bytes;
  bytes.clear();
  append_pre_image(canonical, bytes);
  return {ring_->key(bytes), canonical.mode, canonical.quality, canonical.country, {}};
}

Result<Keyed> Normalizer::key(const QueryView& query) {
  if (auto done = state_->run(query); !done) return fail(done.error());
  if (!is_for_second(query)) return keyed(state_->out);
  return std::move(second_keys({&state_->out, 1}).front());
}

std::optional<Result<Keyed>> Normalizer::key_or_wait(const QueryView& query) {
  if (auto done = state_->run(query); !done) return fail(done.error());
  if (!is_for_second(query)) return keyed(state_->out);
  waiting_.push_back(state_->out);
  return std::nullopt;
}

std::vector<Result<Keyed>> Normalizer::keys_of_waiting() {
  const auto waiting = std::exchange(waiting_, {});
  return waiting.empty() ? std::vector<Result<Keyed>>() : second_keys(waiting);
}

std::vector<Result<Keyed>> Normalizer::second_keys(std::span<const Canonical> unparsed) {
  std::vector<Result<Keyed>> keys;
  const auto read = second_->read(unparsed);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) {
      keys.emplace_back(fail(read[i].error()));
      continue;
    }
    Keyed key = keyed(*read[i]);
    if (!read[i]->backend.empty()) key.pre_image = state_->bytes;
    keys.emplace_back(std::move(key));
  }
  return keys;
}

}  // namespace geonce

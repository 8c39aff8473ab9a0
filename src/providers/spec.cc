#include "providers/spec.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "providers/builtin_specs.h"
#include "providers/spec_answer.h"
#include "providers/spec_ask.h"
#include "providers/spec_bulk.h"
#include "providers/spec_table.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

const NameTable<OutcomeKind>& billable_outcomes() {
  static const NameTable<OutcomeKind> kinds{{"match", OutcomeKind::match},
                                            {"no_match", OutcomeKind::no_match},
                                            {"ambiguous", OutcomeKind::ambiguous},
                                            {"pending", OutcomeKind::pending}};
  return kinds;
}

constexpr std::array<std::string_view, 13> kAnswerFields{"lat",
                                                         "lon",
                                                         "confidence",
                                                         "formatted",
                                                         "place_id",
                                                         "country",
                                                         "house_number",
                                                         "street",
                                                         "unit",
                                                         "city",
                                                         "state",
                                                         "postcode",
                                                         "precision"};

Terms read_terms(SpecTable& table) {
  Terms terms;
  if (const auto* days = table.find("persist_days")) {
    if (days->is_string()) {
      const NameTable<bool> words{{"unlimited", true}};
      if (table.word("persist_days", words)) terms.keep = Terms::Keep::unlimited;
    } else if (const auto number = table.integer("persist_days", 0, 36'500)) {
      terms.keep = *number == 0 ? Terms::Keep::nothing : Terms::Keep::limited;
      terms.keep_for = std::chrono::hours{24 * *number};
    }
  } else {
    table.missing("persist_days");
  }
  for (const auto& field : table.texts("fields")) {
    if (std::ranges::find(kAnswerFields, field) == kAnswerFields.end())
      table.file().wrong(table.find("fields")->source(),
                         "{}: \"{}\" is no field of an answer",
                         table.path("fields"),
                         field);
    terms.keep_fields.push_back(field);
  }
  terms.share = table.flag("share", true);
  terms.attribution = table.text("attribution").value_or("");
  table.end();
  return terms;
}

Prices read_prices(SpecTable& table) {
  Prices prices;
  prices.single.micro_usd = table.integer("single_microusd", 0, 1'000'000'000).value_or(0);
  prices.bulk.micro_usd =
      table.integer("bulk_microusd", 0, 1'000'000'000).value_or(prices.single.micro_usd);
  if (table.find("bills") != nullptr) prices.bills = table.words("bills", billable_outcomes());
  prices.may_bill = table.words("may_bill", billable_outcomes());
  for (const OutcomeKind kind : prices.may_bill) std::erase(prices.bills, kind);
  table.end();
  return prices;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

Spec read_spec(SpecTable& table) {
  Spec spec;
  const auto version = table.integer("spec", 1, 1'000);
  if (!version)
    table.file().wrong(table.at(), "spec = 1 is missing: the version of the language");
  else if (*version != 1)
    table.file().wrong(table.find("spec")->source(), "this program knows spec = 1 only");
  spec.name = table.required_text("name");
  if (!is_name(spec.name))
    table.file().wrong(table.at(), "name has to be 1 to 40 of a-z, 0-9 and _");
  spec.title = table.text("title").value_or(spec.name);
  spec.facts = table.text("facts").value_or("");
  if (auto terms = table.table("terms")) spec.terms = read_terms(*terms);
  if (auto price = table.table("price")) spec.prices = read_prices(*price);
  if (auto limits = table.table("limits")) {
    spec.rate_per_s = limits->number("rate_per_s").value_or(0);
    if (spec.rate_per_s < 0)
      table.file().wrong(limits->at(), "{} has to be 0 or more", limits->path("rate_per_s"));
    spec.concurrency =
        static_cast<std::size_t>(limits->integer("concurrency", 1, 10'000).value_or(8));
    if (const auto most = limits->integer("max_delay_s", 1, 86'400))
      spec.max_delay = milliseconds{*most * 1'000};
    limits->end();
  }
  spec.countries = table.countries("countries");
  spec.needs_user_agent = table.flag("needs_user_agent", false);
  const NameTable<bool> encodings{{"utf-8", false}, {"iso-8859-1", true}};
  spec.latin1 = table.word("encoding", encodings).value_or(false);
  spec.ascii = table.flag("ascii", false);
  spec.no_match_rechecks = static_cast<int>(table.integer("no_match_rechecks", 0, 10).value_or(0));
  spec.request_id_header = table.text("request_id_header").value_or("");
  if (auto delay = table.table("retry_after")) {
    spec.delay_header = delay->text("header").value_or(spec.delay_header);
    spec.delay_at = delay->one_pointer("at");
    delay->end();
  }
  for (std::string* name : {&spec.request_id_header, &spec.delay_header})
    std::ranges::transform(*name, name->begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });

  if (auto ask = table.table("ask"))
    spec.ask = read_ask(*ask, spec.fields);
  else
    table.file().wrong(table.at(), "[ask] is missing");
  if (auto answer = table.table("answer")) {
    spec.reading = read_reading(*answer, table);
    spec.reading.items = answer->pointers("items");
    answer->end();
  } else {
    table.file().wrong(table.at(), "[answer] is missing");
  }
  if (auto bulk = table.table("bulk")) spec.bulk = read_bulk(*bulk);
  table.end();

  spec.needs_secret = uses(spec.ask, Placeholder::secret) ||
                      (spec.fields && any_uses(spec.fields->query, Placeholder::secret)) ||
                      (spec.bulk && (uses(spec.bulk->request, Placeholder::secret) ||
                                     any_uses(spec.bulk->form, Placeholder::secret)));
  return spec;
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  if (!in || std::filesystem::is_directory(path, error))
    return fail(ErrorCode::io_failed, "cannot read the provider file {}", path.string());
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

std::vector<Pointer> needed_places(const Bulk& bulk) {
  std::vector<Pointer> places{*bulk.ref};
  const Reading& reading = *bulk.reading;
  places.insert(places.end(), reading.lat.begin(), reading.lat.end());
  places.insert(places.end(), reading.lon.begin(), reading.lon.end());
  if (reading.lon_lat) places.push_back(*reading.lon_lat);
  return places;
}

Result<Spec> parse_spec(std::string_view toml, std::string_view origin) {
  SpecFile file(origin);
  toml::table document;
  try {
    document = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    file.wrong(error.source(), "{}", error.description());
    return fail(*file.error());
  }
  SpecTable table(file, document, "");
  Spec spec = read_spec(table);
  if (file.error()) return fail(*file.error());
  spec.origin = origin;
  spec.text = toml;
  return spec;
}

Result<Specs> load_specs(const std::filesystem::path& folder) {
  Specs specs;
  const auto add = [&](std::string_view toml, std::string_view origin) -> Result<void> {
    auto spec = parse_spec(toml, origin);
    if (!spec) return fail(std::move(spec.error()));
    std::string name = spec->name;
    specs.insert_or_assign(std::move(name), std::move(*spec));
    return {};
  };
  for (const auto& [name, toml] : builtin_specs())
    if (auto added = add(toml, fmt::format("built-in {}.toml", name)); !added)
      return fail(std::move(added.error()));
  if (folder.empty()) return specs;

  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".toml") files.push_back(entry->path());
  if (error)
    return fail(ErrorCode::io_failed,
                "cannot list the provider folder {}: {}",
                folder.string(),
                error.message());
  std::ranges::sort(files);
  std::map<std::string, std::string> seen;  // name -> file
  for (const auto& path : files) {
    auto bytes = read_file(path);
    if (!bytes) return fail(std::move(bytes.error()));
    // Made by the shell a moment ago: `geonce provider show opencage > specs/mine.toml`.
    if (bytes->empty()) continue;
    auto spec = parse_spec(*bytes, path.string());
    if (!spec) return fail(std::move(spec.error()));
    const auto [first, is_new] = seen.emplace(spec->name, path.string());
    if (!is_new)
      return fail(ErrorCode::invalid_config,
                  "{} and {} both describe the provider \"{}\"",
                  first->second,
                  path.string(),
                  spec->name);
    std::string name = spec->name;
    specs.insert_or_assign(std::move(name), std::move(*spec));
  }
  return specs;
}

}  // namespace geonce

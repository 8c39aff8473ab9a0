#include "core/explain.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string address, against, country, bulk;
  bool json = false, structured = false;
};

using Column = std::string_view QueryView::*;
struct ColumnName {
  std::string_view name;
  Column member;
};
constexpr std::array<ColumnName, 12> kColumns{{{"text", &QueryView::text},
                                               {"house_number", &QueryView::house_number},
                                               {"road", &QueryView::road},
                                               {"unit", &QueryView::unit},
                                               {"city", &QueryView::city},
                                               {"state", &QueryView::state},
                                               {"postcode", &QueryView::postcode},
                                               {"country", &QueryView::country_text},
                                               {"house", &QueryView::house},
                                               {"po_box", &QueryView::po_box},
                                               {"suburb", &QueryView::suburb},
                                               {"language", &QueryView::language}}};

/// Lines of a file or of standard input, without their ends.
class Lines {
 public:
  static Result<Lines> open(const std::string& path) {
    std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    if (file == nullptr)
      return fail(
          ErrorCode::io_failed, "cannot read {}: {}", path, std::generic_category().message(errno));
    return Lines(file, path);
  }
  Lines(Lines&& other) noexcept
      : file_(std::exchange(other.file_, nullptr)), path_(std::move(other.path_)) {}
  Lines& operator=(Lines&&) = delete;
  ~Lines() {
    std::free(line_);
    if (file_ != nullptr && file_ != stdin) std::fclose(file_);
  }

  /// nullopt: the end.
  Result<std::optional<std::string_view>> next() {
    const ssize_t size = ::getline(&line_, &room_, file_);
    if (size < 0) {
      if (std::ferror(file_) != 0)
        return fail(ErrorCode::io_failed,
                    "reading {} failed: {}",
                    path_,
                    std::generic_category().message(errno));
      return std::nullopt;
    }
    std::string_view line(line_, static_cast<std::size_t>(size));
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

 private:
  Lines(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  std::FILE* file_;
  std::string path_;
  char* line_ = nullptr;
  std::size_t room_ = 0;
};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

Result<std::vector<Column>> header_of(std::string_view line) {
  std::vector<Column> columns;
  for (const auto cell : cells_of(line)) {
    const auto* const found = std::ranges::find(kColumns, cell, &ColumnName::name);
    if (found == kColumns.end()) {
      std::string known;
      for (const auto& column : kColumns)
        known += (known.empty() ? "" : ", ") + std::string(column.name);
      return fail(ErrorCode::usage,
                  "the header names a column '{}' that is no field; there are: {}",
                  cell,
                  known);
    }
    columns.push_back(found->member);
  }
  return columns;
}

/// `address` or `address<TAB>country`.
Result<QueryView> text_row(std::string_view line, Country standard) {
  const auto cells = cells_of(line);
  if (cells.size() > 2)
    return fail(ErrorCode::usage,
                "the line has {} cells; there may be an address and a country, with a tab between",
                cells.size());
  QueryView query;
  query.text = cells[0];
  query.country = standard;
  if (cells.size() == 2) query.country_text = cells[1];
  return query;
}

Result<QueryView> fields_row(std::string_view line,
                             const std::vector<Column>& columns,
                             Country standard) {
  const auto cells = cells_of(line);
  if (cells.size() > columns.size())
    return fail(ErrorCode::usage,
                "the line has {} cells where the header has {}",
                cells.size(),
                columns.size());
  QueryView query;
  query.country = standard;
  for (std::size_t i = 0; i < cells.size(); ++i) query.*columns[i] = cells[i];
  return query;
}

int bulk(const Arguments& arguments, Country standard, Normalizer& normalizer) {
  auto lines = Lines::open(arguments.bulk);
  if (!lines) return report(lines.error());
  std::vector<Column> columns;
  if (arguments.structured) {
    const auto header = lines->next();
    if (!header) return report(header.error());
    if (!*header) return report({ErrorCode::usage, "no header line names the fields", {}, {}, {}});
    auto named = header_of(**header);
    if (!named) return report(named.error());
    columns = std::move(*named);
  }
  for (;;) {
    const auto line = lines->next();
    if (!line) return report(line.error());
    if (!*line) break;
    const auto query =
        arguments.structured ? fields_row(**line, columns, standard) : text_row(**line, standard);
    const auto read = query ? normalizer.normalize(*query) : Result<Canonical>(fail(query.error()));
    const std::string said = explain_json(read, normalizer) + '\n';
    if (std::fwrite(said.data(), 1, said.size(), stdout) != said.size()) break;
  }
  if (std::fflush(stdout) != 0)
    return report({ErrorCode::io_failed,
                   "writing failed: " + std::generic_category().message(errno),
                   {},
                   {},
                   {}});
  return 0;
}

int compare(const Arguments& arguments, Country country, Normalizer& normalizer) {
  std::vector<Canonical> both;
  for (const std::string* text : {&arguments.address, &arguments.against}) {
    QueryView query;
    query.text = *text;
    query.country = country;
    const auto read = normalizer.normalize(query);
    if (!read) return report(read.error());
    std::fputs((explain(query, read, normalizer.ring()) + '\n').c_str(), stdout);
    both.push_back(*read);
  }
  std::fputs(explain_difference(both[0], both[1]).c_str(), stdout);
  return 0;
}

int show(const Globals& globals, const Arguments& arguments) {
  const auto loaded = load_key_ring(globals);
  if (!loaded) return report(loaded.error());
  const auto second = load_second_reader(globals);
  if (!second) return report(second.error());
  Normalizer normalizer(*loaded, second->get());
  const auto country = country_of("--country", arguments.country);
  if (!country) return report(country.error());
  if (!arguments.bulk.empty()) return bulk(arguments, *country, normalizer);
  if (!arguments.against.empty()) return compare(arguments, *country, normalizer);
  QueryView query;
  query.text = arguments.address;
  query.country = *country;
  const auto read = normalizer.normalize(query);
  if (arguments.json)
    std::puts(explain_json(read, normalizer).c_str());
  else if (read)
    std::fputs(explain(query, read, normalizer.ring()).c_str(), stdout);
  if (read) return 0;
  return arguments.json ? row(read.error().code).exit_code : report(read.error());
}

}  // namespace

void add_explain(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("explain", "Show what an address is taken for, and its key");
  auto a = std::make_shared<Arguments>();
  auto* address = command->add_option(
      "ADDRESS", a->address, "The address, as you would write it on an envelope");
  command->add_option("--country", a->country, "Its country: ISO 3166-1 code or name")
      ->type_name("CC");
  auto* json = command->add_flag("--json", a->json, "Print JSON");
  auto* against =
      command->add_option("--against", a->against, "Another address: why do the keys differ?")
          ->type_name("ADDRESS")
          ->needs(address)
          ->excludes(json);
  auto* lines =
      command
          ->add_option("--jsonl",
                       a->bulk,
                       "Explain each line of a file or of standard input (-) as a JSON object")
          ->type_name("FILE")
          ->excludes(address)
          ->excludes(against);
  command
      ->add_flag("--structured",
                 a->structured,
                 "The lines of --jsonl are fields with tabs between, under a header")
      ->needs(lines);
  does(*command, program, [a, address, lines, &program] {
    if (address->empty() && lines->empty())
      return report(
          {ErrorCode::usage, "say which ADDRESS to explain, or --jsonl FILE", {}, {}, {}});
    return show(program.globals, *a);
  });
}

}  // namespace geonce::cli

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "app/signals.h"
#include "app/sweeper.h"
#include "batch/run.h"
#include "cli/session.h"
#include "core/duration.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string file = "-", output = "-";
  std::string address, map, default_country, default_state, default_city, language;
  std::string delimiter = "auto", quote = "auto", line_end = "auto", encoding = "auto",
              input_format = "auto", output_encoding = "same";
  std::string format, columns, prefix, collision, max_cost, timeout, summary, exceptions;
  bool no_header = false, bom = false, dry_run = false, cache_only = false, refresh = false;
  bool retry_failed = false, retry_negative = false, only_missing = false, restart = false;
  bool quiet = false, no_progress = false;
  std::optional<std::int64_t> limit, max_calls, max_errors, concurrency;
  std::optional<double> rate;
  std::optional<int> max_retries;
};

Result<BatchOptions> options_of(const Arguments& arguments, const Config& config) {
  BatchOptions options;
  options.input.path = arguments.file;
  options.input.has_header = !arguments.no_header;
  const auto encoding = parse_encoding_choice(arguments.encoding);
  if (!encoding) return fail(encoding.error());
  options.input.encoding = *encoding;
  if (arguments.delimiter != "auto") {
    const auto delimiter = parse_delimiter(arguments.delimiter);
    if (!delimiter) return fail(delimiter.error());
    options.input.dialect.delimiter = *delimiter;
  }
  if (arguments.quote != "auto") {
    const auto quote = parse_quote(arguments.quote);
    if (!quote) return fail(quote.error());
    options.input.dialect.quote = *quote;
    if (*quote != '\0' && options.input.dialect.delimiter == *quote)
      return fail(ErrorCode::usage, "--quote and --delimiter are the same character");
  }
  if (arguments.line_end != "auto") {
    const auto line_end = parse_line_end(arguments.line_end);
    if (!line_end) return fail(line_end.error());
    options.input.dialect.line_end = *line_end;
  }
  if (arguments.input_format != "auto") {
    const auto format = parse_format(arguments.input_format);
    if (!format) return fail(format.error());
    options.input.format = *format;
  }

  options.mapping.address = arguments.address;
  options.mapping.fields = arguments.map;
  options.mapping.default_city = arguments.default_city;
  options.mapping.default_state = arguments.default_state;
  options.mapping.language = arguments.language;
  const auto country = country_of("--default-country", arguments.default_country);
  if (!country) return fail(country.error());
  options.mapping.default_country = country->is_known() ? *country : config.batch.default_country;

  options.output.path = arguments.output;
  options.output.bom = arguments.bom;
  options.output.prefix = arguments.prefix.empty() ? config.batch.prefix : arguments.prefix;
  const std::string& columns = arguments.columns.empty() ? config.batch.columns : arguments.columns;
  if (columns != "short" && columns != "full")
    return fail(ErrorCode::usage, "--columns is short or full");
  options.output.columns = columns == "full" ? ColumnSet::full : ColumnSet::short_set;
  // Filling the gaps of an earlier output means writing into its columns.
  const auto collision = parse_collision(!arguments.collision.empty() ? arguments.collision
                                         : arguments.only_missing     ? "replace"
                                                                      : config.batch.collision);
  if (!collision) return fail(collision.error());
  options.output.collision = *collision;
  if (!arguments.format.empty()) {
    const auto format = parse_format(arguments.format);
    if (!format) return fail(format.error());
    options.output.format = *format;
  }
  if (arguments.output_encoding != "same") {
    options.output.encoding = parse_encoding(arguments.output_encoding);
    if (!options.output.encoding)
      return fail(
          ErrorCode::usage,
          "--output-encoding is same, utf-8, utf-16le, utf-16be, windows-1252 or iso-8859-1");
  }
  options.exceptions = arguments.exceptions;

  options.context = answer_context(config);
  options.cache_only = arguments.cache_only;
  options.refresh = arguments.refresh;
  options.retry_failed = arguments.retry_failed;
  options.retry_negative = arguments.retry_negative;
  options.only_missing = arguments.only_missing;
  options.restart = arguments.restart;
  options.limit = arguments.limit;
  options.max_calls = arguments.max_calls;
  if (!arguments.max_cost.empty()) {
    const auto cost = parse_dollars(arguments.max_cost);
    if (!cost) return fail(cost.error());
    options.max_cost = *cost;
  }
  options.max_errors = arguments.max_errors.value_or(config.batch.max_errors);
  if (arguments.max_retries) options.max_retries = *arguments.max_retries;
  options.temp_folder = std::filesystem::temp_directory_path();
  return options;
}

bool is_same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;
  // What is written to a device or a pipe takes nothing away; standard output has one reader.
  for (const auto& path : {a, b})
    if (path != "-" && fs::exists(path, error) && !fs::is_regular_file(path, error)) return false;
  if (a == "-" || b == "-") return a == b;
  return fs::equivalent(a, b, error) || fs::weakly_canonical(fs::absolute(a, error), error) ==
                                            fs::weakly_canonical(fs::absolute(b, error), error);
}

/// What would replace a file of the same run is refused before anything is paid. The output alone
/// may take the place of the input: it has all of its rows.
Result<void> check_files(const Arguments& arguments) {
  struct Named {
    std::string_view option;
    const std::string& path;
  };
  const std::array<Named, 3> written{{{"-o", arguments.output},
                                      {"--exceptions", arguments.exceptions},
                                      {"--summary", arguments.summary}}};
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written.at(i).path.empty()) continue;
    for (std::size_t j = 0; j < i; ++j)
      if (!written.at(j).path.empty() && is_same_file(written.at(i).path, written.at(j).path))
        return fail(ErrorCode::usage,
                    "{} and {} both name {}; give each a file of its own",
                    written.at(j).option,
                    written.at(i).option,
                    written.at(i).path == "-" ? "standard output" : written.at(i).path);
    const bool keeps_the_rows = i == 0 && !arguments.limit;
    if (!keeps_the_rows && arguments.file != "-" &&
        is_same_file(written.at(i).path, arguments.file))
      return fail(ErrorCode::usage,
                  "{} would overwrite the input {}; name another file",
                  written.at(i).option,
                  arguments.file);
  }
  const auto folder = std::filesystem::path(arguments.summary).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    return fail(ErrorCode::io_failed,
                "cannot write {}: there is no folder {}",
                arguments.summary,
                folder.string());
  return {};
}

/// Flags that change how the engine is made rather than what the batch does.
Result<Config> with_flags(Config config, const Arguments& arguments) {
  if (!arguments.timeout.empty()) {
    const auto timeout = parse_duration(arguments.timeout);
    if (!timeout) return fail(timeout.error());
    config.resolver.total_deadline = *timeout;
  }
  const auto override_provider = [&](const std::string& name) {
    if (name == "places") return;
    if (arguments.concurrency) config.providers[name].concurrency = *arguments.concurrency;
    if (arguments.rate) config.providers[name].rate_per_s = *arguments.rate;
  };
  for (const auto& name : config.chain.standard) override_provider(name);
  for (const auto& [country, names] : config.chain.countries)
    for (const auto& name : names) override_provider(name);
  return config;
}

std::string counted(std::int64_t n, std::string_view what, std::string_view more = "s") {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : more);
}

/// Where rows are in error, and why a run has stopped. That something has failed is said to the
/// quiet as well; that they have stopped it themselves, they know.
void say_how_it_ended(const BatchReport& report, std::string_view prefix, bool is_quiet) {
  switch (report.end) {
    case BatchEnd::complete:
      return;
    case BatchEnd::complete_with_errors:
      if (!is_quiet)
        fmt::print(stderr,
                   "the column {}error says what is wrong with each row{}\n",
                   prefix,
                   report.counts.of(RowStatus::error) > 0
                       ? "; --retry-failed asks again for those in error"
                       : "");
      return;
    case BatchEnd::capped:
      if (!is_quiet)
        fmt::print(stderr,
                   "stopped paying: {}. Run the same command again, with a higher cap, to go on.\n",
                   report.stop_reason);
      return;
    case BatchEnd::interrupted:
      if (is_quiet) return;
      break;
    case BatchEnd::provider_stopped:
    case BatchEnd::provider_down:
    case BatchEnd::store_failed:
    case BatchEnd::too_many_errors:
      break;
  }
  fmt::print(stderr,
             "stopped: {}. The rows so far are in {}. Run the same command again to go on; what is "
             "answered is not asked again.\n",
             report.stop_reason,
             report.output);
}

/// One line on stderr: rewritten on a terminal, else a new one every 10 s.
class Progress {
 public:
  explicit Progress(const Arguments& arguments)
      : is_on_(!arguments.quiet && !arguments.no_progress),
        is_terminal_(isatty(STDERR_FILENO) == 1) {}

  void show(const BatchCounts& counts) {
    using namespace std::chrono;
    if (!is_on_) return;
    const auto now = steady_clock::now();
    if (now - last_ < (is_terminal_ ? milliseconds{250} : milliseconds{10'000})) return;
    last_ = now;
    shown_ = true;
    const double seconds = duration<double>(now - began_).count();
    const double rate = seconds > 0 ? static_cast<double>(counts.rows) / seconds : 0;
    std::string eta;
    if (counts.bytes_read > 0 && counts.bytes_total >= counts.bytes_read) {
      const double share =
          static_cast<double>(counts.bytes_read) / static_cast<double>(counts.bytes_total);
      const auto left = static_cast<std::int64_t>(seconds / share - seconds);
      eta = fmt::format(", ETA {}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60);
    }
    const std::string line =
        fmt::format("{} rows, {:.0f} rows/s{}, {:.0f}% known, {}, {}, {} no match, {} in error",
                    counts.rows,
                    rate,
                    eta,
                    counts.hit_share() * 100,
                    counted(counts.calls, "call"),
                    to_string(counts.cost),
                    counts.of(RowStatus::no_match),
                    counts.of(RowStatus::error) + counts.of(RowStatus::bad_row));
    if (is_terminal_)
      fmt::print(stderr, "\r\x1b[K{}", line);
    else
      fmt::print(stderr, "{}\n", line);
  }
  void end() const {
    if (is_terminal_ && shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  bool is_on_, is_terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), last_ = began_;
};

std::string dollars(Money price) { return to_string(price); }

int dry_run(Engine& engine,
            const BatchOptions& options,
            const Arguments& arguments,
            const std::stop_token& stop) {
  Progress progress(arguments);
  const auto plan =
      plan_batch(engine.resolver(), engine.clock(), options, stop, [&](const BatchCounts& counts) {
        progress.show(counts);
      });
  progress.end();
  if (!plan) return report(plan.error());
  fmt::print("input       {}\naddress     {}\n", plan->input_note, plan->mapping_note);
  fmt::print("rows        {}\n  empty     {}\n  bad       {}\n  invalid   {}\n",
             plan->rows,
             plan->empty,
             plan->bad,
             plan->invalid);
  fmt::print("distinct    {}\n  known     {}\n  no match  {}\n  to ask    {}\n",
             plan->distinct,
             plan->known,
             plan->known_no_match,
             plan->would_ask);
  const auto chain = engine.chain();
  if (chain.empty()) fmt::print("cost        {} (no paid provider in the chain)\n", dollars({}));
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const ProviderTraits& provider = chain[i];
    const Money price = provider.bulk_max > 0 ? provider.price_bulk : provider.price_single;
    fmt::print("cost        {} {} by {} at {} each{}\n",
               i == 0 ? "at most" : "and at most",
               dollars(price * plan->would_ask),
               provider.name,
               dollars(price),
               i == 0 ? "" : ", for what those before do not answer");
  }
  if (!arguments.summary.empty()) {
    boost::json::object object{{"rows", plan->rows},
                               {"empty", plan->empty},
                               {"bad", plan->bad},
                               {"invalid", plan->invalid},
                               {"distinct", plan->distinct},
                               {"known", plan->known},
                               {"known_no_match", plan->known_no_match},
                               {"would_ask", plan->would_ask}};
    boost::json::object costs;
    for (const ProviderTraits& provider : chain)
      costs[provider.name] =
          ((provider.bulk_max > 0 ? provider.price_bulk : provider.price_single) * plan->would_ask)
              .micro_usd;
    object["at_most_microusd"] = costs;
    if (auto written = write_file(arguments.summary, boost::json::serialize(object) + "\n");
        !written)
      return report(written.error());
  }
  return 0;
}

void print_summary(const BatchReport& report) {
  const BatchCounts& counts = report.counts;
  const double seconds = std::max(0.001, std::chrono::duration<double>(report.took).count());
  fmt::print(stderr,
             "{} ({}) in {:.1f} s, {:.0f} rows/s\n",
             counted(counts.rows, "row"),
             counted(counts.distinct, "distinct address", "es"),
             seconds,
             static_cast<double>(counts.rows) / seconds);
  const auto print_line = [](const std::vector<std::string>& parts) {
    if (!parts.empty()) fmt::print(stderr, "  {}\n", fmt::join(parts, "  "));
  };
  std::vector<std::string> statuses, sources;
  for (std::size_t i = 0; i < kRowStatuses; ++i)
    if (counts.by_status.at(i) > 0)
      statuses.push_back(
          fmt::format("{} {}", counts.by_status.at(i), to_string(static_cast<RowStatus>(i))));
  if (counts.kept > 0) statuses.push_back(fmt::format("{} kept as they were", counts.kept));
  for (std::size_t i = 0; i < kSources; ++i)
    if (counts.by_source.at(i) > 0)
      sources.push_back(
          fmt::format("{} {}", counts.by_source.at(i), to_string(static_cast<AnswerSource>(i))));
  if (counts.replayed > 0)
    sources.push_back(fmt::format("{} from this batch's own rows", counts.replayed));
  print_line(statuses);
  print_line(sources);
  print_line({fmt::format("{}, {}", counted(counts.calls, "call"), to_string(counts.cost))});
}

int run(const Globals& globals, const Arguments& arguments) {
  const StopSignals signals;
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  const auto config = with_flags(loaded->config, arguments);
  if (!config) return report(config.error());
  const auto ring = key_ring_of(*config);
  if (!ring) return report(ring.error());
  auto options = options_of(arguments, *config);
  if (!options) return report(options.error());
  options->ring = &*ring;
  const auto second = open_second_reader(*config, signals.token());
  if (!second) return report(second.error());
  options->second = second->get();
  if (const auto files = check_files(arguments); !files) return report(files.error());
  if (arguments.file == "-" && isatty(STDIN_FILENO) == 1)
    return report({ErrorCode::usage, "name a file, or pipe rows into geonce batch", {}, {}, {}});
  auto engine = open_engine(*config);
  if (!engine) return report(engine.error());
  if (!arguments.quiet && !(*engine)->takeover_note().empty())
    fmt::print(stderr, "{}\n", (*engine)->takeover_note());
  if (arguments.dry_run) return dry_run(**engine, *options, arguments, signals.token());

  const Sweeper sweeper((*engine)->store(), config->sweep, [](const std::string& line) {
    fmt::print(stderr, "geonce: {}\n", line);
  });
  Progress progress(arguments);
  const auto done = run_batch((*engine)->store(),
                              (*engine)->resolver(),
                              (*engine)->clock(),
                              *options,
                              signals.token(),
                              [&](const BatchCounts& counts) { progress.show(counts); });
  progress.end();
  if (!done) return report(done.error());
  if (!arguments.quiet) {
    fmt::print(stderr, "{}; address: {}\n", done->input_note, done->mapping_note);
    print_summary(*done);
  }
  say_how_it_ended(*done, options->output.prefix, arguments.quiet);
  if (!arguments.summary.empty())
    if (auto written = write_file(arguments.summary, to_json(*done) + "\n"); !written)
      return report(written.error());
  return exit_code_of(done->end);
}

// The library's own checks print the range of a double to its last digit.
CLI::Validator at_least(std::int64_t least) {
  return {[least](const std::string& text) {
            std::int64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, value);
            return read.ec == std::errc() && read.ptr == end && value >= least
                       ? std::string()
                       : fmt::format("\"{}\" is no whole number from {} on", text, least);
          },
          ""};
}

CLI::Validator above_zero() {
  return {[](const std::string& text) {
            double value = 0;
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, value);
            return read.ec == std::errc() && read.ptr == end && value > 0 && std::isfinite(value)
                       ? std::string()
                       : fmt::format("\"{}\" is no number above 0", text);
          },
          ""};
}

}  // namespace

void add_batch(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("batch", "Geocode the rows of a file: each distinct address once");
  auto arguments = std::make_shared<Arguments>();
  Arguments& a = *arguments;
  command->add_option("FILE", a.file, "CSV, TSV or NDJSON; - for standard input")
      ->capture_default_str();
  command->add_option("-o,--output", a.output, "Write here; - for standard output")
      ->type_name("OUT")
      ->capture_default_str();

  const auto* const input = "Input";
  command
      ->add_option("--address",
                   a.address,
                   "The address: a column, several (a,b,c), or a template ({street} {nr}, {city})")
      ->type_name("COL")
      ->group(input);
  command
      ->add_option(
          "--map",
          a.map,
          "Fields in columns: house_number=…,street=…,unit=…,city=…,state=…,postcode=…,country=…")
      ->type_name("FIELD=COL,...")
      ->group(input);
  command
      ->add_option("--default-country",
                   a.default_country,
                   "Country of rows that name none: ISO 3166-1 code or name")
      ->type_name("CC")
      ->group(input);
  command->add_option("--default-state", a.default_state, "State of rows that name none")
      ->type_name("STATE")
      ->group(input);
  command->add_option("--default-city", a.default_city, "City of rows that name none")
      ->type_name("CITY")
      ->group(input);
  command
      ->add_option("--language", a.language, "Language of the answers, as far as providers know it")
      ->type_name("LANG")
      ->group(input);
  command->add_option("--input-format", a.input_format, "auto, csv, tsv or ndjson")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(input);
  command->add_option("--delimiter", a.delimiter, "auto, a character, tab or none")
      ->type_name("CHAR")
      ->capture_default_str()
      ->group(input);
  command->add_option("--quote", a.quote, "auto, a character or none")
      ->type_name("CHAR")
      ->capture_default_str()
      ->group(input);
  command->add_option("--line-end", a.line_end, "auto, lf, crlf or cr")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(input);
  command
      ->add_option("--encoding",
                   a.encoding,
                   "auto, utf-8, utf-16, utf-16le, utf-16be, windows-1252 or iso-8859-1")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(input);
  command->add_flag("--no-header", a.no_header, "The first line is a row; columns go by number")
      ->group(input);

  const auto* const output = "Output";
  command
      ->add_option("--format",
                   a.format,
                   "csv, tsv, ndjson or geojson (default: by the output's name, else as the input)")
      ->type_name("FORMAT")
      ->group(output);
  command->add_option("--columns", a.columns, "Appended columns: short or full")
      ->type_name("SET")
      ->group(output);
  command->add_option("--prefix", a.prefix, "In front of the appended columns' names")
      ->type_name("TEXT")
      ->group(output);
  command
      ->add_option(
          "--collision", a.collision, "When the input has such a column: error, replace or suffix")
      ->type_name("WHAT")
      ->group(output);
  command->add_option("--output-encoding", a.output_encoding, "same, utf-8, …")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(output);
  command->add_flag("--bom", a.bom, "Begin with a byte order mark (for Excel)")->group(output);
  command
      ->add_option("--exceptions", a.exceptions, "Write the rows that need a person here as well")
      ->type_name("FILE")
      ->group(output);
  command->add_option("--summary", a.summary, "Write the summary here as JSON")
      ->type_name("FILE")
      ->group(output);
  command->add_flag("--quiet", a.quiet, "Print nothing but errors")->group(output);
  command->add_flag("--no-progress", a.no_progress, "Print the summary, but no progress")
      ->group(output);

  const auto* const cost = "Cost";
  command->add_flag("--dry-run", a.dry_run, "Count and price, ask nobody, write nothing")
      ->group(cost);
  command->add_option("--limit", a.limit, "Only the first so many rows")
      ->type_name("N")
      ->check(at_least(0))
      ->group(cost);
  command->add_option("--max-calls", a.max_calls, "Make at most so many calls")
      ->type_name("N")
      ->check(at_least(0))
      ->group(cost);
  command->add_option("--max-cost", a.max_cost, "Spend at most so many dollars")
      ->type_name("USD")
      ->group(cost);
  command->add_flag("--cache-only", a.cache_only, "Never pay")->group(cost);
  command->add_flag("--refresh", a.refresh, "Buy every address anew")->group(cost);

  const auto* const again = "Running it again";
  command->add_flag("--retry-failed", a.retry_failed, "Ask again for rows that ended in error")
      ->group(again);
  command
      ->add_flag("--retry-negative", a.retry_negative, "Ask again for addresses that had no match")
      ->group(again);
  command
      ->add_flag("--only-missing",
                 a.only_missing,
                 "The input is an earlier output: keep its finished rows")
      ->group(again);
  command->add_flag("--restart", a.restart, "Forget this batch's own rows; remembered answers stay")
      ->group(again);

  const auto* const pace = "Pace";
  command->add_option("--concurrency", a.concurrency, "Calls at once to one provider")
      ->type_name("N")
      ->check(at_least(1))
      ->group(pace);
  command->add_option("--rate", a.rate, "Paid look-ups a second")
      ->type_name("N")
      ->check(above_zero())
      ->group(pace);
  command->add_option("--timeout", a.timeout, "Of one call, as in 20s")
      ->type_name("D")
      ->group(pace);
  command
      ->add_option(
          "--max-retries", a.max_retries, "After transient failures of one address (default 4)")
      ->type_name("N")
      ->check(at_least(0))
      ->group(pace);
  command
      ->add_option("--max-errors", a.max_errors, "Stop after so many addresses in error; 0: never")
      ->type_name("N")
      ->check(at_least(0))
      ->group(pace);
  does(*command, program, [&program, arguments] { return run(program.globals, *arguments); });
}

}  // namespace geonce::cli

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "app/config.h"
#include "app/engine.h"
#include "app/second_reader.h"
#include "cli/command.h"
#include "core/clock.h"
#include "core/json_text.h"
#include "core/key.h"
#include "core/query.h"
#include "core/result.h"
#include "core/second_reader.h"
#include "core/utc_text.h"
#include "resolver/former_answers.h"

namespace geonce::cli {

/// The configuration that the global flags, the environment and the file give.
Result<LoadedConfig> load(const Globals& globals);

/// The store of that configuration; an error when there is none yet.
Result<std::unique_ptr<Store>> open_existing_store(const Globals& globals);

/// What the keys of that configuration are made with.
Result<KeyRing> load_key_ring(const Globals& globals);

/// What reads addresses that the built-in rules leave in one piece; null: nobody does.
Result<std::unique_ptr<SecondReader>> load_second_reader(const Globals& globals);

/// What a command is asked about.
struct Named {
  Slot slot;
  std::optional<Query> query;  // of an address; none where a key was given
  std::string pre_image;       // as in Ask
};

/// The argument ADDRESS and the flag --country of a command, for `named`.
void add_address(CLI::App& command,
                 std::string& address,
                 std::string& country,
                 const std::string& what = "An address or a key (n1_…)");

/// A key's text form, or an address that is normalised to its key. Only for an address the second
/// reader of the configuration is made.
///
/// country   as --country names it
/// errors    usage  it names none; those of the normaliser and of the second reader
Result<Named> named(std::string_view key_or_address,
                    std::string_view country,
                    const KeyRing& ring,
                    const Globals& globals);

/// An address, which may still stand under a former key; none for a key.
std::vector<Missing> missing_of(const Named& what);

/// Has a Redis that the configuration names hear of what this command has ended. Where it does not,
/// a line says so: others make up for it.
void tell_redis(const Globals& globals, Store& store);

/// A country as a flag names it: an ISO 3166-1 code or an English name; unknown for "".
/// errors    usage, with the flag's name
Result<Country> country_of(std::string_view flag, std::string_view text);

/// Dollars with up to six decimals: `12.50`.
/// errors    usage
Result<Money> parse_dollars(std::string_view text);

/// Replaces a small file in one step.
/// errors    io_failed, disk_full
Result<void> write_file(const std::string& path, std::string_view text);

/// How long a command waits for the store.
Deadline patience();

}  // namespace geonce::cli

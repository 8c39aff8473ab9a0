#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "app/shared_tier.h"
#include "app/store_health.h"
#include "cli/session.h"

namespace geonce::cli {
namespace {

/// Findings, a line each; what is bad decides the exit code.
class Findings {
 public:
  static void good(const std::string& text) { fmt::print("ok    {}\n", text); }
  static void warn(const std::string& text) { fmt::print("warn  {}\n", text); }
  void bad(const Error& error) {
    fmt::print("bad   {}\n", error.message);
    if (exit_code_ == 0) exit_code_ = row(error.code).exit_code;
  }
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_ = 0;
};

void look_at_store(const Config& config, bool deep, Findings& findings) {
  auto store = open_store(config, false);
  if (!store) {
    if (store.error().code == ErrorCode::not_found)
      Findings::warn(store.error().message);
    else
      findings.bad(store.error());
    return;
  }
  const auto stats = (*store)->stats(patience());
  if (!stats) return findings.bad(stats.error());
  Findings::good(
      fmt::format("store {} ({} {}, schema {}, {:.1f} MiB): {} entries, {} ledger rows, {} address "
                  "points, {} batches",
                  stats->where,
                  stats->kind,
                  stats->version,
                  stats->schema,
                  static_cast<double>(stats->bytes) / (1 << 20U),
                  stats->entries,
                  stats->ledger_rows,
                  stats->places,
                  stats->batches));
  if (stats->places == 0 && config.chain.standard == std::vector<std::string>{"places"})
    Findings::warn(
        "the chain is places alone and there are no address points: geonce places load FILE, or "
        "name a provider in "
        "chain.default");
  if (stats->blocked_claims > 0)
    Findings::warn(fmt::format(
        "{} addresses are blocked: their last calls may have been billed and the answers are lost "
        "(geonce ledger show --event unknown; geonce get --refresh ADDRESS buys anew)",
        stats->blocked_claims));
  if (stats->open_claims > 0)
    Findings::warn(
        fmt::format("{} purchases are open: by a process at work, or by one that was killed (the "
                    "next run takes those over)",
                    stats->open_claims));
  if (deep) {
    const auto checked = (*store)->check(Deadline::never());
    if (!checked) return findings.bad(checked.error());
    Findings::good("every page and every answer of the store is readable");
  }
  struct statvfs disk {};
  auto folder =
      config.store.has_parent_path() ? config.store.parent_path() : std::filesystem::path(".");
  const std::string_view beside =
      config.has_postgres_store() ? "for the spool" : "beside the store";
  if (config.has_postgres_store()) {
    folder = config.spool.folder;
    while (!std::filesystem::exists(folder) && folder.has_relative_path())
      folder = folder.parent_path();
  }
  if (statvfs(folder.c_str(), &disk) == 0) {
    const std::uint64_t mib = disk.f_bavail * disk.f_frsize >> 20U;
    const auto text = fmt::format("{} MiB free {}", mib, beside);
    if (mib < 512)
      Findings::warn(text + ": a full disk stops all purchases");
    else
      Findings::good(text);
  }
}

void look_at_server(const Config& config, Findings& findings) {
  const auto complaints = store_complaints(config, patience());
  if (!complaints) return findings.bad(complaints.error());
  for (const auto& line : *complaints) Findings::warn(line);
  if (complaints->empty() && config.has_postgres_store())
    Findings::good("the server of the store is set as it should be");
}

void look_at_keys(const Config& config, Findings& findings) {
  const auto ring = key_ring_of(config);
  if (!ring)
    findings.bad(ring.error());
  else if (ring->has_secret())
    Findings::good(fmt::format("keys are made with a secret: {}…", ring->prefix()));
  else if (config.has_postgres_store())
    Findings::warn(
        "keys are made without a secret, and the store is shared: whoever reads it can tell "
        "whether an address was asked (docs/how-to/keep-keys-secret.md)");
  else
    Findings::good("keys are made without a secret: anybody can make the key of an address");
  std::error_code unread;
  const auto ring_mode = std::filesystem::status(config.key.secret_file, unread).permissions();
  if (!config.key.secret_file.empty() && !unread &&
      (ring_mode & std::filesystem::perms::others_read) != std::filesystem::perms::none)
    Findings::warn(
        fmt::format("everybody on this machine can read the secret of the keys: chmod 600 {}",
                    config.key.secret_file.string()));
  for (const auto& [name, provider] : config.providers) {
    std::error_code error;
    const auto mode = std::filesystem::status(provider.secret_file, error).permissions();
    if (!provider.secret_file.empty() && !error &&
        (mode & std::filesystem::perms::others_read) != std::filesystem::perms::none)
      Findings::warn(fmt::format("everybody on this machine can read the key of {}: chmod 600 {}",
                                 name,
                                 provider.secret_file.string()));
  }
}

void look_at_second_reader(const Config& config, bool deep, Findings& findings) {
  const auto second = open_second_reader(config);
  if (!second) return findings.bad(second.error());
  if (*second == nullptr) return;
  Findings::good(fmt::format("libpostal reads what the built-in rules do not; its keys are {}",
                             (*second)->backend()));
  if (!deep) return;
  const std::string text = "12 rua augusta lisboa";
  const auto said = (*second)->read(std::span(&text, 1));
  if (!said.front()) return findings.bad(said.front().error());
  Findings::good("libpostal has read its model and an address");
}

void look_at_chain(const Config& config, Findings& findings) {
  const auto chain = examine_chain(config);
  if (!chain) return findings.bad(chain.error());
  for (const ProviderTraits& provider : *chain) {
    if (provider.terms.keep == Terms::Keep::nothing) {
      Findings::warn(
          fmt::format("provider {}: its terms are not known to allow keeping answers, so every "
                      "question is paid for again; if your "
                      "contract allows it, say so in providers.{}.terms",
                      provider.name,
                      provider.name));
      continue;
    }
    const auto terms = provider.terms.keep == Terms::Keep::limited
                           ? fmt::format("{} days", provider.terms.keep_for.count() / 24)
                           : std::string("without limit");
    Findings::good(fmt::format("provider {}: {} a look-up, answers may be kept {}",
                               provider.name,
                               to_string(provider.price_single),
                               terms));
  }
  if (chain->empty()) Findings::good("the chain is places alone: nothing is ever paid");
}

void look_at_redis(const Config& config, Findings& findings) {
  const auto redis = examine_shared_tier(config, patience());
  if (redis) {
    if (!redis->description.empty()) Findings::good("redis " + redis->description);
    for (const auto& line : redis->complaints) Findings::warn(line);
    return;
  }
  // A cache that is down stops nothing; a setting that is wrong does.
  if (redis.error().code == ErrorCode::io_failed)
    Findings::warn(redis.error().message);
  else
    findings.bad(redis.error());
}

int examine(const Globals& globals, bool deep) {
  Findings findings;
  const auto loaded = load(globals);
  if (!loaded) {
    findings.bad(loaded.error());
    return findings.exit_code();
  }
  Findings::good(loaded->file.empty() ? std::string("no configuration file: defaults")
                                      : fmt::format("configuration {}", loaded->file.string()));
  look_at_store(loaded->config, deep, findings);
  if (findings.exit_code() == 0) look_at_server(loaded->config, findings);
  look_at_redis(loaded->config, findings);
  look_at_keys(loaded->config, findings);
  look_at_second_reader(loaded->config, deep, findings);
  look_at_chain(loaded->config, findings);
  return findings.exit_code();
}

}  // namespace

void add_doctor(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("doctor", "Look for what is wrong, and say what to do");
  auto deep = std::make_shared<bool>(false);
  command->add_flag("--deep", *deep, "Read the whole store as well");
  does(*command, program, [&program, deep] { return examine(program.globals, *deep); });
}

}  // namespace geonce::cli

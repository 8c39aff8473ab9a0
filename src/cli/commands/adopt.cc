#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "app/table_cache.h"
#include "cli/session.h"
#include "io/postgres.h"

namespace geonce::cli {
namespace {

int adopt(const Globals& globals, const TableCache& cache) {
  if (pg_uri_has_password(cache.uri))
    return report(
        {ErrorCode::usage,
         "a password on the command line can be read by everybody on this machine; put it "
         "into PGPASSFILE",
         {},
         {},
         {}});
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  const auto ring = key_ring_of(loaded->config);
  if (!ring) return report(ring.error());
  auto store = open_store(loaded->config, true);
  if (!store) return report(store.error());
  const auto second = load_second_reader(globals);
  if (!second) return report(second.error());
  const auto done = adopt_table(cache,
                                **store,
                                loaded->config,
                                *ring,
                                second->get(),
                                [](std::string_view key, const std::string& why) {
                                  fmt::print(stderr, "row {}: {}\n", key, why);
                                });
  if (!done) return report(done.error());
  fmt::print(
      "{} rows: {} matches, {} no-matches, {} that the terms do not allow to keep, {} that cannot "
      "be read\n",
      done->rows,
      done->matches,
      done->no_matches,
      done->not_allowed,
      done->bad);
  if (!cache.plan)
    fmt::print("{} stored, {} not younger than what is here, {} whose lives are over\n",
               done->stored,
               done->older,
               done->expired);
  return done->bad + done->not_allowed > 0 ? row(ErrorCode::invalid_address).exit_code : 0;
}

}  // namespace

void add_adopt(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("adopt", "Take over the answers of a cache that is a table in Postgres");
  auto cache = std::make_shared<TableCache>();
  cache->table = "geocode_cache";
  command->add_option("--postgres", cache->uri, "Where the table is: postgres://…")
      ->type_name("URL")
      ->required();
  command->add_option("--table", cache->table, "Its name")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--provider",
                   cache->provider,
                   "Who gave the answers, where they do not say so themselves")
      ->type_name("NAME");
  command->add_flag("--plan", cache->plan, "Count, and store nothing");
  does(*command, program, [&program, cache] { return adopt(program.globals, *cache); });
}

}  // namespace geonce::cli

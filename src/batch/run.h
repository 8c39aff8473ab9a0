#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "batch/columns.h"
#include "batch/counts.h"
#include "batch/input.h"
#include "batch/row_result.h"
#include "batch/writer.h"
#include "core/clock.h"
#include "core/result.h"
#include "resolver/resolver.h"
#include "store/store.h"

namespace geonce {

struct BatchOptions {
  InputOptions input;
  MappingOptions mapping;
  OutputOptions output;
  std::string exceptions;  // a second output with the rows that need a person; empty: none
  std::string
      context;  // what else changes answers (chain, acceptance): part of the batch's identity
  Pool pool = kDefaultPool;
  const KeyRing* ring = &KeyRing::plain();  // what keys are made with; outlives the run
  SecondReader* second = nullptr;           // of what the built-in rules do not read; the same

  bool cache_only = false, refresh = false, retry_failed = false, retry_negative = false;
  bool only_missing = false, restart = false;
  std::optional<std::int64_t> limit;  // rows
  std::optional<std::int64_t> max_calls;
  std::optional<Money> max_cost;
  std::int64_t max_errors = 0;  // 0: never stop for rows in error
  int max_retries = 4;          // of one address, after transient failures

  std::size_t workers = 2;
  std::size_t window = 5;  // chunks at once: bounds the memory
  std::filesystem::path temp_folder;
};

/// Why a run came to its end. Everything but the first two can be gone on with by the same command.
enum class BatchEnd : std::uint8_t {
  complete,
  complete_with_errors,
  capped,  // --max-calls or --max-cost: rows that would have to be paid are in error
  interrupted,
  provider_stopped,  // key, quota or payment: no row failed because of it
  provider_down,
  store_failed,  // or the disk under it: no row is to blame
  too_many_errors,
};
std::string_view to_string(BatchEnd end);
int exit_code_of(BatchEnd end);

struct BatchReport {
  BatchEnd end = BatchEnd::complete;
  BatchCounts counts;
  BatchId id;
  bool resumed = false;    // the store knew this batch
  std::string input_note;  // "UTF-8, comma-separated, LF, 4 columns"
  std::string mapping_note;
  std::string stop_reason;  // of the unhappy ends, for a person
  std::string output;       // where the rows are; the part's name when the run was stopped
  std::chrono::milliseconds took{0};
};
std::string to_json(const BatchReport& report);

/// Answers every row of a file, in order, each distinct address once. May be run again after
/// anything: what is answered is not asked again.
///
/// notice    called now and then on the calling thread with what is done so far
/// errors    usage, bad_encoding, bad_csv, not_found, io_failed, disk_full, store_…: nothing under
/// the
///           output's name
Result<BatchReport> run_batch(Store& store,
                              Resolver& resolver,
                              Clock& clock,
                              const BatchOptions& options,
                              const std::stop_token& stop,
                              const std::function<void(const BatchCounts&)>& notice);

/// What a run would do, without a call and without an output.
struct BatchPlan {
  std::int64_t rows = 0, empty = 0, bad = 0, invalid = 0;
  std::int64_t distinct = 0, known = 0, known_no_match = 0, would_ask = 0;
  std::string input_note, mapping_note;
};

Result<BatchPlan> plan_batch(Resolver& resolver,
                             Clock& clock,
                             const BatchOptions& options,
                             const std::stop_token& stop,
                             const std::function<void(const BatchCounts&)>& notice);

}  // namespace geonce

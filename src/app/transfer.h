#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>

#include "app/config.h"
#include "batch/line_out.h"
#include "core/clock.h"
#include "core/key_ring.h"
#include "core/result.h"
#include "core/second_reader.h"
#include "store/store.h"

namespace geonce {

/// What of a store may be taken out, or of a file may be taken in: docs/formats/export.md.
struct TransferReport {
  std::int64_t answers = 0;      // in the store, or in the file
  std::int64_t written = 0;      // of export: lines
  std::int64_t stored = 0;       // of import
  std::int64_t older = 0;        // the store has an answer or a drop as young, or a correction
  std::int64_t expired = 0;      // their lives are over
  std::int64_t unreadable = 0;   // lines that say no answer; entries whose answer cannot be read
  std::int64_t not_allowed = 0;  // by the terms of their providers; of these:
  std::map<std::string, std::int64_t> unknown_providers;  // without a spec here, so without terms
  /// The first of the unreadable lines: `line 3: …`.
  std::string first_unreadable;
};

/// Writes every remembered answer that is alive, one JSON object a line, in the order of their
/// keys. Only reads the store. errors    as LineOut and Store
Result<TransferReport> export_answers(Store& store,
                                      const KeyRing& ring,
                                      const Clock& clock,
                                      LineOut& out);

/// Files the answers of such a file under the keys that `ring` makes of them. Lives end where the
/// terms of this configuration end them. May be stopped and run again.
///
/// second    reads what the rules leave in one piece; null: nobody does
/// errors    invalid_config, io_failed, reader_unavailable, as Store; a line that cannot be read is
/// no error but counted
Result<TransferReport> import_answers(std::istream& in,
                                      Store& store,
                                      const Config& config,
                                      const KeyRing& ring,
                                      SecondReader* second,
                                      Deadline deadline);

}  // namespace geonce

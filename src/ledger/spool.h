#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/uuid.h"

namespace geonce {

/// What survives the machine; the process is always survived.
enum class SpoolSync {
  always,  // each record is on disk before its call returns
  batch,  // marks are, and those that meet share one fdatasync; an answer goes to the disk with the
          // next of them: what the machine takes along before is known to be in doubt
  none,   // what the kernel had not written is lost with the machine
};

/// The raw answer of one call, kept between "received" and "committed".
struct SpooledResponse {
  std::vector<IntentId> intents;  // in the order the asks were sent
  std::string provider;
  bool bulk = false;
  int http_status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // lower-case names
  std::string body;
  friend bool operator==(const SpooledResponse&, const SpooledResponse&) = default;
};

/// This process's local journal (docs/formats/spool.md): one append-only file per process
/// incarnation, locked as long as the process lives. Thread-safe.
///
/// errors of all  disk_full  the file was cut back to its last whole record: later calls may
/// succeed
///                io_failed  after a failed sync or a failed cut the spool stays broken: what the
///                file
///                           holds is no longer known
class Spool {
 public:
  /// Removes the file when all intents are settled, else leaves it to be adopted.
  virtual ~Spool() = default;
  /// Before the first byte of a call leaves. An error means: do not send. Sets aside room for the
  /// answer, so that the disk which takes the mark takes what is bought as well.
  virtual Result<void> mark_sent(std::span<const IntentId> intents) = 0;
  /// After the last byte of its answer arrived.
  virtual Result<void> append(const SpooledResponse& response) = 0;
  /// These intents have their outcome in the store. What only they needed leaves the file: at once
  /// when nothing else is open, else when it is worth a rewrite. An error here loses nothing.
  virtual Result<void> settled(std::span<const IntentId> intents) = 0;
};

/// folder    made with mode 0700; files have 0600, they hold addresses. On a local file system.
/// errors    disk_full, io_failed
Result<std::unique_ptr<Spool>> open_spool(const std::filesystem::path& folder,
                                          const OwnerId& owner,
                                          SpoolSync sync);

/// What a dead process left behind. Settled intents may be among it: the store knows which have an
/// outcome.
struct DeadSpool {
  OwnerId owner;
  std::vector<IntentId> marked;            // sent, or about to be, with no answer here
  std::vector<SpooledResponse> responses;  // answered, maybe not committed
  /// No mark is missing: an intent of `owner` that is neither in `marked` nor in `responses` was
  /// never sent. False after damage, and when the machine went down over a spool that was not
  /// synced.
  bool complete = true;
  /// Empty, or what was unreadable from where on. A record cut off by the end of the file is named
  /// here, and does no harm to `complete`: its call had not been allowed to go on.
  std::string damage;
};

struct Adopted {
  std::size_t spools = 0;
  std::vector<std::string>
      notes;  // files in the folder that are not ours to read, left as they are
};

/// Calls `adopt` for each spool in `folder` whose process is gone (its lock is free), holding its
/// lock; removes the file when `adopt` succeeds. Several processes may do this at once: each spool
/// goes to one. `adopt` must bear repetition: whoever dies in it leaves the spool to the next.
/// errors    io_failed, and the first error of `adopt`, after the other spools had their turn
Result<Adopted> adopt_dead_spools(const std::filesystem::path& folder,
                                  const std::function<Result<void>(const DeadSpool&)>& adopt);

}  // namespace geonce

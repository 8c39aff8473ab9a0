#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/uuid.h"

namespace geonce {

enum class SpoolSync { always, batch, none };

/// The raw answer of one call, kept between "received" and "committed".
struct SpooledResponse {
  std::vector<IntentId> intents;  // in the order the asks were sent
  std::string provider;
  bool bulk = false;
  int http_status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // lower-case names
  std::string body;
};

/// This process's local journal (docs/formats/spool.md): one append-only file per process incarnation.
/// Plain write(2): survives the process, and with `sync` the machine. Thread-safe.
class Spool {
 public:
  virtual ~Spool() = default;
  /// Before the first byte of a call leaves. An error means: do not send.
  /// errors    disk_full, io_failed
  virtual Result<void> mark_sent(std::span<const IntentId> intents) = 0;
  /// After the last byte of its answer arrived.
  virtual Result<void> append(const SpooledResponse& response) = 0;
  /// These intents have their outcome in the store; the file may be cut when all have.
  virtual Result<void> settled(std::span<const IntentId> intents) = 0;
};

/// folder    made with mode 0700; files have 0600, they hold addresses
Result<std::unique_ptr<Spool>> open_spool(const std::filesystem::path& folder,
                                          const OwnerId& owner,
                                          SpoolSync sync);

/// What a dead process left behind.
struct DeadSpool {
  OwnerId owner;
  std::vector<IntentId> marked;               // sent, or about to be, with no answer here
  std::vector<SpooledResponse> responses;     // answered, maybe not committed
  std::string damage;                         // empty, or what was unreadable from where on
};

/// Calls `adopt` for each spool in `folder` whose process is gone (its lock is free), holding its lock;
/// removes the file when `adopt` succeeds. Several processes may do this at once: each spool goes to one.
Result<std::size_t> adopt_dead_spools(const std::filesystem::path& folder,
                                      const std::function<Result<void>(const DeadSpool&)>& adopt);

}  // namespace geonce

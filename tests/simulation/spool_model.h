#pragma once

#include <set>
#include <vector>

#include "ledger/spool.h"

namespace geonce::sim {

/// A spool as it is on the disk of a host: what survives its process, and what survives the
/// machine (SpoolSync::batch: a mark takes everything before it to the disk).
class SpoolModel {
 public:
  void mark_sent(const std::vector<IntentId>& intents) {
    records_.push_back({intents, {}, true});
    open_.insert(intents.begin(), intents.end());
    synced_ = records_.size();
  }
  void append(SpooledResponse response) {
    const auto intents = response.intents;
    records_.push_back({intents, std::move(response), false});
    open_.insert(intents.begin(), intents.end());
  }
  /// The file is cut back when nothing in it is open.
  void settled(const IntentId& intent) {
    open_.erase(intent);
    if (!open_.empty()) return;
    records_.clear();
    synced_ = 0;
  }
  [[nodiscard]] bool is_empty() const { return records_.empty(); }
  [[nodiscard]] const std::set<IntentId>& open() const { return open_; }

  /// The machine went down: what was not synced is gone.
  void lose_power() { records_.resize(synced_); }

  [[nodiscard]] DeadSpool left(const OwnerId& owner) const {
    DeadSpool dead;
    dead.owner = owner;
    std::set<IntentId> answered;
    for (const Record& record : records_) {
      if (record.is_mark) continue;
      answered.insert(record.intents.begin(), record.intents.end());
      dead.responses.push_back(record.response);
    }
    for (const Record& record : records_)
      for (const IntentId& intent : record.intents)
        if (record.is_mark && answered.insert(intent).second) dead.marked.push_back(intent);
    return dead;
  }

 private:
  struct Record {
    std::vector<IntentId> intents;
    SpooledResponse response;
    bool is_mark = false;
  };
  std::vector<Record> records_;
  std::set<IntentId> open_;
  std::size_t synced_ = 0;
};

}  // namespace geonce::sim

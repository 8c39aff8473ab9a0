#include "app/rekey.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "core/normalize.h"
#include "core/query.h"
#include "resolver/former_answers.h"

namespace geonce {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::size_t kExamples = 20;
constexpr std::size_t kMostOfOne = 10;  // entries shown of one example

/// Enough of a digest to tell entries apart: the chance that two of 10^9 agree is below 10^-20.
using Head = std::array<std::uint8_t, 16>;

Head head_of(const Key& key) {
  Head head{};
  std::memcpy(head.data(), key.bytes.data(), head.size());
  return head;
}

bool is_unread(const Error& error) { return error.code == ErrorCode::reader_unavailable; }

/// Every entry, in slot order.
Result<void> each_entry(Store& store,
                        Deadline deadline,
                        const std::function<Result<void>(std::span<const EntryRow>)>& deed) {
  EntryFilter filter;
  filter.limit = kPage;
  for (;;) {
    const auto page = store.entries(filter, deadline);
    if (!page) return fail(page.error());
    if (page->empty()) return {};
    filter.after = page->back().slot;
    if (auto done = deed(*page); !done) return done;
  }
}

/// An entry under the key where it belongs.
struct Seat {
  Head key;
  Pool pool = kDefaultPool;
  bool is_there = false;  // already
  Standing standing;
};

bool is_before(const Seat& a, const Seat& b) {
  if (a.pool != b.pool) return a.pool < b.pool;
  if (a.key != b.key) return a.key < b.key;
  return a.is_there && !b.is_there;
}

/// A key that a former address has now.
struct Part {
  Head former, present;
  friend auto operator<=>(const Part&, const Part&) = default;
};

class Plan {
 public:
  Plan(Store& store, const KeyRing& ring, SecondReader* second)
      : store_(store), ring_(ring), normalizer_(ring, second) {}

  Result<RekeyPlan> make(Deadline deadline) {
    auto done =
        each_entry(store_, deadline, [this](std::span<const EntryRow> page) -> Result<void> {
          for (const EntryRow& entry : page) add(entry);
          return {};
        });
    if (!done) return fail(done.error());
    count_merges();
    count_splits();
    if (shared_.empty() && apart_.empty()) return std::move(plan_);
    done = each_entry(store_, deadline, [this](std::span<const EntryRow> page) -> Result<void> {
      for (const EntryRow& entry : page) show(entry);
      return {};
    });
    if (!done) return fail(done.error());
    for (auto& [key, members] : merges_) plan_.merge_examples.push_back(decided(members));
    for (auto& [former, members] : splits_) plan_.split_examples.push_back(planned(members));
    return std::move(plan_);
  }

 private:
  struct Member {
    PlannedEntry shown;
    Seat seat;
  };

  static Standing standing_of(const EntryRow& entry) {
    return {entry.answer != nullptr, entry.pinned, entry.answered_at};
  }

  static Seat seat_of(const EntryRow& entry, const Rekey* rekey) {
    const Slot& slot = rekey == nullptr ? entry.slot : rekey->to;
    return {head_of(slot.key), slot.pool, slot == entry.slot, standing_of(entry)};
  }

  /// What tells its former addresses apart: the pre-image it was filed by, and those that older
  /// rules make of its spelling.
  std::set<Head> former_of(const EntryRow& entry, const Rekey& rekey) const {
    std::set<Head> former;
    if (entry.pre_image != rekey.pre_image) former.insert(head_of(sha256(entry.pre_image)));
    if (const auto query = query_from_json(entry.query_json))
      for (const std::string& bytes : ring_.former_pre_images(query->view()))
        former.insert(head_of(sha256(bytes)));
    return former;
  }

  void add(const EntryRow& entry) {
    if (entry.answer == nullptr) {  // dropped; what is older and moves here goes as well
      seats_.push_back(seat_of(entry, nullptr));
      return;
    }
    ++plan_.entries;
    const auto rekey = refiled(entry, normalizer_);
    seats_.push_back(seat_of(entry, rekey ? &*rekey : nullptr));
    if (!rekey) {
      ++(is_unread(rekey.error()) ? plan_.unread : plan_.unreadable);
      return;
    }
    if (rekey->to != rekey->from && entry.pre_image != rekey->pre_image) ++plan_.by_rules;
    for (const Head& former : former_of(entry, *rekey))
      parts_.push_back({former, head_of(rekey->to.key)});
  }

  /// The place of the seat that is left of those of one key.
  static std::size_t left_of(std::span<const Seat> seats) {
    std::size_t left = 0;
    for (std::size_t i = 1; i < seats.size(); ++i)
      if (!outlasts(seats[left].standing, seats[i].standing)) left = i;
    return left;
  }

  void count_merges() {
    std::stable_sort(seats_.begin(), seats_.end(), is_before);
    for (std::size_t begin = 0, end = 0; begin < seats_.size(); begin = end) {
      while (end < seats_.size() && seats_[end].key == seats_[begin].key &&
             seats_[end].pool == seats_[begin].pool)
        ++end;
      const std::span group(&seats_[begin], end - begin);
      const Seat& left = group[left_of(group)];
      const auto answers =
          std::ranges::count_if(group, [](const Seat& seat) { return seat.standing.is_answer; });
      plan_.merges += answers - (left.standing.is_answer ? 1 : 0);
      if (left.standing.is_answer) ++(left.is_there ? plan_.same : plan_.moves);
      if (group.size() > 1 && shared_.size() < kExamples) shared_.insert(left.key);
    }
    plan_.same -= plan_.unreadable + plan_.unread;  // they are where they are
    seats_ = {};
  }

  void count_splits() {
    std::ranges::sort(parts_);
    parts_.erase(std::ranges::unique(parts_).begin(), parts_.end());
    for (std::size_t begin = 0, end = 0; begin < parts_.size(); begin = end) {
      while (end < parts_.size() && parts_[end].former == parts_[begin].former) ++end;
      if (end - begin < 2) continue;
      ++plan_.splits;
      if (apart_.size() < kExamples) apart_.insert(parts_[begin].former);
    }
    parts_ = {};
  }

  void show(const EntryRow& entry) {
    const auto rekey = refiled(entry, normalizer_);
    const Rekey* moves = entry.answer != nullptr && rekey ? &*rekey : nullptr;
    const Seat seat = seat_of(entry, moves);
    const auto keep = [&](std::vector<Member>& members) {
      if (members.size() < kMostOfOne) members.push_back({shown(entry, moves), seat});
    };
    if (shared_.contains(seat.key)) keep(merges_[seat.key]);
    if (moves == nullptr) return;
    for (const Head& former : former_of(entry, *moves))
      if (apart_.contains(former)) keep(splits_[former]);
  }

  PlannedEntry shown(const EntryRow& entry, const Rekey* rekey) const {
    PlannedEntry shown;
    shown.key = ring_.prefix(entry.slot.key, entry.pre_image) + to_hex(entry.slot.key);
    if (const auto query = query_from_json(entry.query_json)) shown.address = query->one_line();
    shown.new_key = rekey == nullptr ? shown.key : ring_.text(rekey->to.key);
    return shown;
  }

  static std::vector<PlannedEntry> planned(const std::vector<Member>& members) {
    std::vector<PlannedEntry> entries;
    for (const Member& member : members) entries.push_back(member.shown);
    return entries;
  }
  /// … the one that is left first.
  static std::vector<PlannedEntry> decided(std::vector<Member>& members) {
    std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return is_before(a.seat, b.seat);
    });
    std::vector<Seat> seats;
    for (const Member& member : members) seats.push_back(member.seat);
    const std::size_t left = left_of(seats);
    auto entries = planned(members);
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].is_erased = i != left;
    std::rotate(entries.begin(),
                entries.begin() + static_cast<std::ptrdiff_t>(left),
                entries.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    return entries;
  }

  Store& store_;
  const KeyRing& ring_;
  Normalizer normalizer_;
  RekeyPlan plan_;
  std::vector<Seat> seats_;
  std::vector<Part> parts_;
  std::set<Head> shared_, apart_;  // keys and former addresses that serve as examples
  std::map<Head, std::vector<Member>> merges_, splits_;
};

}  // namespace

Result<RekeyPlan> plan_rekey(Store& store,
                             const KeyRing& ring,
                             SecondReader* second,
                             Deadline deadline) {
  return Plan(store, ring, second).make(deadline);
}

Result<RekeyReport> rekey_entries(Store& store,
                                  const KeyRing& ring,
                                  SecondReader* second,
                                  Deadline deadline) {
  RekeyReport report;
  Normalizer normalizer(ring, second);
  auto done = each_entry(store, deadline, [&](std::span<const EntryRow> page) -> Result<void> {
    std::vector<Rekey> rekeys;
    for (const EntryRow& entry : page) {
      if (entry.answer == nullptr) continue;
      auto rekey = refiled(entry, normalizer);
      if (!rekey)
        report.unread += is_unread(rekey.error()) ? 1 : 0;
      else if (rekey->to != rekey->from)
        rekeys.push_back(std::move(*rekey));
    }
    const auto all = store.rekey(rekeys, deadline);
    if (!all) return fail(all.error());
    for (const Rekeyed one : *all) {
      if (one == Rekeyed::moved) ++report.moved;
      if (one == Rekeyed::merged) ++report.merged;
      if (one == Rekeyed::stayed) ++report.stayed;
    }
    return {};
  });
  if (!done) return fail(done.error());
  return report;
}

}  // namespace geonce

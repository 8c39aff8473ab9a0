#include "app/rekey.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>

#include "core/normalize.h"
#include "core/query.h"

namespace geonce {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::size_t kExamples = 20;

/// Enough of a key to tell entries apart: the chance that two of 10^9 agree is below 10^-20.
using Head = std::array<std::uint8_t, 16>;

Head head_of(const Key& key) {
  Head head{};
  std::memcpy(head.data(), key.bytes.data(), head.size());
  return head;
}

class Reader {
 public:
  Reader(const KeyRing& ring, SecondReader* second) : ring_(ring), normalizer_(ring, second) {}

  /// Under which key the spelling of this entry stands now.
  /// errors    those of Normalizer::normalize: it has no key, or was not read
  Result<Rekey> read(const EntryRow& entry) {
    const auto query = query_from_json(entry.query_json);
    if (!query) return fail(query.error());
    const auto canonical = normalizer_.normalize(query->view());
    if (!canonical) return fail(canonical.error());
    Rekey rekey{entry.slot, {entry.slot.pool, {}}, pre_image(*canonical), {}};
    rekey.to.key = ring_.key(rekey.pre_image);
    rekey.building_key = ring_.key(building_pre_image(*canonical));
    return rekey;
  }

 private:
  const KeyRing& ring_;
  Normalizer normalizer_;
};

void count_unread(const Error& error, RekeyReport& report) {
  ++(error.code == ErrorCode::reader_unavailable ? report.unread : report.unreadable);
}

/// Every entry that has an answer, in slot order.
Result<void> each_entry(Store& store,
                        Deadline deadline,
                        const std::function<Result<void>(std::span<const EntryRow>)>& deed) {
  EntryFilter filter;
  filter.limit = kPage;
  for (;;) {
    auto page = store.entries(filter, deadline);
    if (!page) return fail(page.error());
    if (page->empty()) return {};
    filter.after = page->back().slot;
    std::erase_if(*page, [](const EntryRow& entry) { return entry.answer == nullptr; });
    if (auto done = deed(*page); !done) return done;
  }
}

}  // namespace

Result<RekeyReport> plan_rekey(Store& store,
                               const KeyRing& ring,
                               SecondReader* second,
                               Deadline deadline) {
  RekeyReport report;
  Reader reader(ring, second);
  std::vector<Head> heads;
  auto done = each_entry(store, deadline, [&](std::span<const EntryRow> page) -> Result<void> {
    for (const EntryRow& entry : page) {
      ++report.entries;
      const auto rekey = reader.read(entry);
      if (!rekey) {
        count_unread(rekey.error(), report);
        heads.push_back(head_of(entry.slot.key));
        continue;
      }
      ++(rekey->to == rekey->from ? report.same : report.moves);
      heads.push_back(head_of(rekey->to.key));
    }
    return {};
  });
  if (!done) return fail(done.error());
  std::ranges::sort(heads);
  std::vector<Head> shared;  // keys that several entries would have
  for (std::size_t i = 1; i < heads.size(); ++i) {
    if (heads[i] != heads[i - 1]) continue;
    ++report.merges;
    if (shared.empty() || shared.back() != heads[i]) shared.push_back(heads[i]);
  }
  report.moves -= report.merges;
  if (shared.empty()) return report;
  std::map<Head, std::string> first;
  done = each_entry(store, deadline, [&](std::span<const EntryRow> page) -> Result<void> {
    for (const EntryRow& entry : page) {
      if (report.examples.size() == kExamples) return {};
      const auto rekey = reader.read(entry);
      if (!rekey || !std::ranges::binary_search(shared, head_of(rekey->to.key))) continue;
      const auto query = query_from_json(entry.query_json);
      const auto [it, is_first] = first.emplace(head_of(rekey->to.key), query->one_line());
      if (!is_first) report.examples.push_back({it->second, query->one_line()});
    }
    return {};
  });
  if (!done) return fail(done.error());
  return report;
}

Result<RekeyReport> rekey_entries(Store& store,
                                  const KeyRing& ring,
                                  SecondReader* second,
                                  Deadline deadline) {
  RekeyReport report;
  Reader reader(ring, second);
  auto done = each_entry(store, deadline, [&](std::span<const EntryRow> page) -> Result<void> {
    std::vector<Rekey> rekeys;
    for (const EntryRow& entry : page) {
      auto rekey = reader.read(entry);
      if (!rekey)
        count_unread(rekey.error(), report);
      else if (rekey->to != rekey->from)
        rekeys.push_back(std::move(*rekey));
    }
    const auto moved = store.rekey(rekeys, deadline);
    if (!moved) return fail(moved.error());
    for (const auto& found : *moved) ++(found ? report.moves : report.merges);
    return {};
  });
  if (!done) return fail(done.error());
  return report;
}

}  // namespace geonce

#include "resolver/former_answers.h"

#include <string>
#include <utility>

namespace geonce {
namespace {

/// What the key of a missing address is made of, and what it would be by the built-in rules alone.
struct Images {
  std::string present, built_in;
};

/// Whether what was bought for the entry's spelling answers the asked address. The entry may be
/// filed by the same bytes under another secret. Else it was found by what former rules made of the
/// asked spelling, which says where to look and no more: they may have given one key to addresses
/// that are two now.
bool answers(const EntryRow& entry, const Images& asked, Normalizer& built_in) {
  if (entry.pre_image == asked.present) return true;
  const auto query = query_from_json(entry.query_json);
  if (!query) return false;
  const auto canonical = built_in.normalize(query->view());
  return canonical && pre_image(*canonical) == asked.built_in;
}

Rekey rekey_to(const EntryRow& entry, std::string image, const KeyRing& ring) {
  Rekey rekey{entry.slot, entry.slot, entry.query_json, std::move(image), {}};
  rekey.to.key = ring.key(rekey.pre_image);
  if (const auto canonical = parse_pre_image(rekey.pre_image))
    rekey.building_key = ring.key(building_pre_image(*canonical));
  return rekey;
}

}  // namespace

Result<Rekey> refiled(const EntryRow& entry, Normalizer& normalizer) {
  const auto query = query_from_json(entry.query_json);
  if (!query) return fail(query.error());
  const auto canonical = normalizer.normalize(query->view());
  if (!canonical) return fail(canonical.error());
  return rekey_to(entry, pre_image(*canonical), normalizer.ring());
}

Result<std::vector<FormerAnswer>> find_former_answers(Store& store,
                                                      const KeyRing& ring,
                                                      std::span<const Missing> missing,
                                                      Deadline deadline) {
  std::vector<FormerAnswer> found_answers;
  if (missing.empty()) return found_answers;
  Normalizer built_in(ring);
  std::vector<Images> images(missing.size());
  std::vector<Slot> slots;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const Missing& one = missing[i];
    const auto canonical = built_in.normalize(one.query);
    if (!canonical) continue;
    images[i].built_in = pre_image(*canonical);
    images[i].present = one.pre_image.empty() ? images[i].built_in : std::string(one.pre_image);
    for (const Key& key : ring.former(one.query, images[i].present, images[i].built_in)) {
      slots.push_back({one.slot.pool, key});
      of.push_back(i);
    }
  }
  if (slots.empty()) return found_answers;
  const auto found = store.find(slots, deadline);
  if (!found) return fail(found.error());
  for (std::size_t f = 0; f < slots.size(); ++f) {
    if (!(*found)[f]) continue;
    auto entry = store.entry(slots[f], deadline);
    if (!entry) return fail(entry.error());
    if (!*entry || (*entry)->answer == nullptr) continue;
    const Images& asked = images[of[f]];
    if (!answers(**entry, asked, built_in)) continue;
    Rekey rekey = rekey_to(**entry, asked.present, ring);
    if (rekey.to != missing[of[f]].slot) continue;
    found_answers.push_back({of[f], std::move(**entry), std::move(rekey)});
  }
  return found_answers;
}

Result<bool> take_over_former_answers(Store& store,
                                      const KeyRing& ring,
                                      std::span<const Missing> missing,
                                      Deadline deadline) {
  auto former = find_former_answers(store, ring, missing, deadline);
  if (!former) return fail(former.error());
  if (former->empty()) return false;
  std::vector<Rekey> rekeys;
  for (FormerAnswer& answer : *former) rekeys.push_back(std::move(answer.rekey));
  if (auto done = store.rekey(rekeys, deadline); !done) return fail(done.error());
  return true;
}

std::vector<Key> former_keys(const KeyRing& ring, const Missing& missing) {
  Normalizer built_in(ring);
  const auto canonical = built_in.normalize(missing.query);
  if (!canonical) return {};
  const std::string image = pre_image(*canonical);
  return ring.former(missing.query, missing.pre_image.empty() ? image : missing.pre_image, image);
}

}  // namespace geonce

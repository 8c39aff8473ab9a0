#include "core/near_misses.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <tuple>
#include <unordered_map>

#include "core/like_words.h"

namespace geonce {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;
constexpr std::size_t kMostWords = 64;  // no address that a person writes has more

/// The fields behind the country in a pre-image (docs/formats/key.md).
enum Field : std::uint8_t { admin, postcode, locality, road, house, unit, box, extra, options };
constexpr std::size_t kFields = 9;

struct Parts {
  char mode = 'u';
  std::string_view country;
  std::array<std::string_view, kFields> fields;
};

Parts parts_of(std::string_view pre_image) {
  std::array<std::string_view, 5 + kFields> all;
  for (auto& part : all) {
    const auto end = std::min(pre_image.find('\x1F'), pre_image.size());
    part = pre_image.substr(0, end);
    pre_image.remove_prefix(std::min(end + 1, pre_image.size()));
  }
  Parts parts;
  parts.mode = all[3].front();
  parts.country = all[4];
  std::copy(all.begin() + 5, all.end(), parts.fields.begin());
  return parts;
}

/// Calls `take` with each word of a line; commas stand between words as spaces do.
template <class Take>
void each_word(std::string_view line, Take take) {
  for (std::size_t at = 0;;) {
    at = line.find_first_not_of(" ,", at);
    if (at == std::string_view::npos) return;
    const auto end = std::min(line.find_first_of(" ,", at), line.size());
    take(line.substr(at, end - at));
    at = end;
  }
}

std::string_view word_at(std::string_view line, std::size_t index) {
  std::string_view found;
  std::size_t at = 0;
  each_word(line, [&](std::string_view word) {
    if (at++ == index) found = word;
  });
  return found;
}

/// The words of one address in the order of an envelope, which is one order for whatever has been
/// understood of them. The postcode stays apart: it stands in front of the town or behind it.
std::string line_of(const Canonical& address) {
  Canonical bare = address;
  bare.admin.clear();
  bare.postcode.clear();
  std::string line = one_line(bare);
  if (!address.admin.empty()) line += ' ' + address.admin;
  return line;
}

std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ (h >> 33U)) * 0xFF51AFD7ED558CCDU;
  h = (h ^ (h >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return h ^ (h >> 33U);
}

/// An address without one of its words, or whole. Equal hashes: two addresses that may be near.
struct Mark {
  static constexpr std::uint16_t kWhole = 0xFFFF;

  std::uint64_t hash = 0;
  std::uint32_t address = 0;
  std::uint16_t word = kWhole;  // which one is left out
  std::uint16_t letter = 0;     // what it begins with, folded to 16 bits; 0: whole

  [[nodiscard]] auto order() const { return std::tuple(hash, letter, word, address); }
};
static_assert(sizeof(Mark) == 16);

std::uint16_t folded(char32_t letter) {
  const auto low = static_cast<std::uint16_t>(letter ^ (letter >> 16U));
  return low == 0 ? 1 : low;
}

/// Makes the marks of addresses. Without word i a line of n words has the hash
/// Σ w[j]·B^(n-2-j), j < i, + Σ w[j]·B^(n-1-j), j > i: two products from those of its beginnings.
class Marker {
 public:
  template <class Take>
  void mark(std::uint32_t address, const Parts& parts, std::string_view line, Take take) {
    beginnings_.assign(1, 0);
    letters_.clear();
    const std::hash<std::string_view> hash;
    each_word(line, [&](std::string_view word) {
      beginnings_.push_back(beginnings_.back() * kBase + mixed(hash(word)));
      letters_.push_back(like_.first_letter(word));
    });
    std::uint64_t head = hash(parts.country);
    for (const Field field : {postcode, options}) head = head * kBase + hash(parts.fields[field]);
    const std::uint64_t all = beginnings_.back();
    take(Mark{mixed(all ^ head), address, Mark::kWhole, 0});
    if (letters_.size() > kMostWords) return;
    std::uint64_t power = 1;
    for (std::size_t i = letters_.size(); i-- > 0; power *= kBase)
      if (letters_[i] != 0)
        take(Mark{mixed((all + (beginnings_[i] - beginnings_[i + 1]) * power) ^ head),
                  address,
                  static_cast<std::uint16_t>(i),
                  folded(letters_[i])});
  }

 private:
  static constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15U;
  LikeWords like_;
  std::vector<std::uint64_t> beginnings_;
  std::vector<char32_t> letters_;
};

/// What no line says is equal.
bool is_one_place(const Parts& a, const Parts& b) {
  return a.country == b.country && a.fields[postcode] == b.fields[postcode] &&
         a.fields[options] == b.fields[options];
}

std::string_view name_of_mode(char mode) { return to_string(static_cast<Mode>(mode)); }

}  // namespace

std::string_view to_string(Likeness likeness) {
  constexpr std::array<std::string_view, 6> kNames{
      "marks", "misspelling", "abbreviation", "unit_word", "missing_word", "same_words"};
  return kNames[static_cast<std::size_t>(likeness)];
}

class NearMisses::Search {
 public:
  explicit Search(const NearMisses& all) : all_(all) {}

  NearMissReport run() {
    // The marks are made anew in each pass, which keeps those with its share of the hashes.
    const std::size_t passes = 1 + all_.marks_ / all_.marks_at_once_;
    std::vector<Mark> marks;
    marks.reserve(std::min(all_.marks_, all_.marks_at_once_ + all_.marks_at_once_ / 8));
    for (std::size_t pass = 0; pass < passes; ++pass) {
      marks.clear();
      for (std::uint32_t i = 0; i < all_.addresses_.size(); ++i)
        marker_.mark(i, parts(i), line(i), [&](const Mark& mark) {
          if ((mark.hash >> 32U) % passes == pass) marks.push_back(mark);
        });
      std::ranges::sort(marks, {}, &Mark::order);
      for (std::size_t begin = 0, end = 0; begin < marks.size(); begin = end) {
        for (end = begin + 1; end < marks.size() && marks[end].hash == marks[begin].hash;) ++end;
        if (end - begin > 1) compare(std::span(marks).subspan(begin, end - begin));
      }
    }
    std::ranges::sort(report_.groups, [](const NearMissGroup& a, const NearMissGroup& b) {
      return std::tuple(b.pairs, a.likeness, std::string_view(a.a), std::string_view(a.b)) <
             std::tuple(a.pairs, b.likeness, std::string_view(b.a), std::string_view(b.b));
    });
    for (NearMissGroup& group : report_.groups) std::ranges::sort(group.members);
    return std::move(report_);
  }

 private:
  struct Cut {  // a mark with the word it leaves out
    std::uint32_t address = 0;
    std::uint16_t index = Mark::kWhole;
    std::string_view word;
  };

  [[nodiscard]] std::string_view pre_image_of(std::uint32_t i) const {
    return all_.pre_image_of(all_.addresses_[i]);
  }
  [[nodiscard]] Parts parts(std::uint32_t i) const { return parts_of(pre_image_of(i)); }
  [[nodiscard]] std::string_view line(std::uint32_t i) const {
    return all_.words_of(all_.addresses_[i]);
  }

  /// Marks of one hash, in their order: whole addresses, then by the letter left out.
  void compare(std::span<const Mark> marks) {
    const auto first_cut = std::ranges::find_if(marks, [](const Mark& m) { return m.letter != 0; });
    const auto whole = std::span(marks.begin(), first_cut);
    const auto cuts = std::span(first_cut, marks.end());
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (std::size_t j = i + 1; j < within_reach(i, whole.size()); ++j)
        same_words(whole[i].address, whole[j].address);
    for (std::size_t i = 0; i < within_reach(0, whole.size()); ++i)
      for (const Mark& cut : cuts) missing_word(whole[i].address, cut);
    unit_words(cuts);
    for (std::size_t begin = 0, end = 0; begin < cuts.size(); begin = end) {
      const auto is_other = [&](const Mark& mark) {
        return mark.letter != cuts[begin].letter || mark.word != cuts[begin].word;
      };
      end = begin + 1;
      while (end < cuts.size() && !is_other(cuts[end])) ++end;
      if (end - begin > 1) like_words(cuts.subspan(begin, end - begin));
    }
  }

  /// The end of what number i of `count` is compared with.
  std::size_t within_reach(std::size_t i, std::size_t count) {
    if (count - i <= kWide) return count;
    report_.is_complete = false;
    return i + kWide;
  }

  Cut cut_of(const Mark& mark) const {
    return {mark.address, mark.word, word_at(line(mark.address), mark.word)};
  }

  void like_words(std::span<const Mark> marks) {
    std::vector<Cut> cuts;
    cuts.reserve(marks.size());
    for (const Mark& mark : marks) cuts.push_back(cut_of(mark));
    // Where not all are compared with all, those with the same beginning are.
    if (cuts.size() > kWide) std::ranges::sort(cuts, {}, &Cut::word);
    for (std::size_t i = 0; i < cuts.size(); ++i)
      for (std::size_t j = i + 1; j < within_reach(i, cuts.size()); ++j) {
        const auto like = like_(cuts[i].word, cuts[j].word);
        if (like && is_one_field(cuts[i].address, cuts[j].address, {road, locality, extra, unit}))
          note(static_cast<Likeness>(*like), cuts[i], cuts[j]);
      }
  }

  /// `unit 4` may be any class of unit. Words that may be classes begin with other letters.
  void unit_words(std::span<const Mark> marks) {
    constexpr std::string_view kNoClass = "unit";
    const auto letter = folded(static_cast<unsigned char>(kNoClass.front()));
    for (auto at = std::ranges::lower_bound(marks, letter, {}, &Mark::letter);
         at != marks.end() && at->letter == letter;
         ++at) {
      const Cut none = cut_of(*at);
      if (none.word != kNoClass) continue;
      for (const Mark& mark : marks) {
        if (mark.word != none.index || mark.address == none.address) continue;
        const Cut other = cut_of(mark);
        if (other.word == kNoClass || like_(none.word, other.word)) continue;
        if (parts(none.address).mode == parts(other.address).mode &&
            is_one_field(none.address, other.address, {unit}))
          note(Likeness::unit_word, none, other);
      }
    }
  }

  void missing_word(std::uint32_t whole, const Mark& mark) {
    const Cut more = cut_of(mark);
    // Of equal neighbours either can be left out: count the first.
    const bool is_repeated =
        more.index > 0 && word_at(line(more.address), more.index - 1U) == more.word;
    // A unit that says more is another door.
    if (is_repeated || !is_one_field(whole, more.address, {road, locality, extra, admin})) return;
    note(Likeness::missing_word, Cut{whole, Mark::kWhole, {}}, more);
  }

  void same_words(std::uint32_t a, std::uint32_t b) {
    const Parts x = parts(a), y = parts(b);
    if (!is_one_place(x, y) || pre_image_of(a) == pre_image_of(b)) return;
    note(Likeness::same_words,
         Cut{a, Mark::kWhole, name_of_mode(x.mode)},
         Cut{b, Mark::kWhole, name_of_mode(y.mode)});
  }

  /// The words of two lines are equal, but for those at the indices given. Equal hashes are no
  /// proof.
  static bool has_equal_words(const Cut& a,
                              std::string_view a_line,
                              const Cut& b,
                              std::string_view b_line) {
    const auto rest_of = [](const Cut& cut, std::string_view line) {
      std::string rest;
      std::size_t at = 0;
      each_word(line, [&](std::string_view word) {
        if (at++ != cut.index) (rest += word) += ' ';
      });
      return rest;
    };
    return rest_of(a, a_line) == rest_of(b, b_line);
  }

  /// Nothing but one of `allowed` differs; or one address is unparsed and the other not, so that
  /// there is only the line to compare.
  [[nodiscard]] bool is_one_field(std::uint32_t i,
                                  std::uint32_t j,
                                  std::initializer_list<Field> allowed) const {
    const Parts a = parts(i), b = parts(j);
    if (!is_one_place(a, b)) return false;
    if (a.mode != b.mode) return a.mode == 'u' || b.mode == 'u';
    std::size_t differing = 0;
    for (std::size_t field = 0; field < kFields; ++field)
      if (a.fields[field] != b.fields[field]) {
        ++differing;
        if (std::ranges::find(allowed, static_cast<Field>(field)) == allowed.end()) return false;
      }
    return differing == 1;
  }

  void note(Likeness likeness, const Cut& x, const Cut& y) {
    if (!has_equal_words(x, line(x.address), y, line(y.address))) return;
    const bool is_swapped = std::tuple(x.word.size(), x.word) > std::tuple(y.word.size(), y.word);
    const Cut& a = is_swapped ? y : x;
    const Cut& b = is_swapped ? x : y;
    ++report_.pairs;
    name_.assign(1, static_cast<char>(likeness));
    ((name_ += a.word) += ' ') += b.word;
    auto at = numbers_.find(name_);
    if (at == numbers_.end()) {
      if (report_.groups.size() == kMostGroups) {
        report_.is_complete = false;
        return;
      }
      at = numbers_.emplace(name_, report_.groups.size()).first;
      report_.groups.push_back({likeness, std::string(a.word), std::string(b.word), 0, {}});
    }
    NearMissGroup& group = report_.groups[at->second];
    ++group.pairs;
    // A group that has none yet gets one: an example.
    if (members_ >= kMostMembers && !group.members.empty()) return;
    ++members_;
    group.members.emplace_back(a.address, b.address);
  }

  const NearMisses& all_;
  Marker marker_;
  LikeWords like_;
  NearMissReport report_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of the groups
  std::string name_;
  std::size_t members_ = 0;
};

void NearMisses::add(const Canonical& address) {
  const std::string line = line_of(address);
  std::size_t words = 0;
  each_word(line, [&words](std::string_view /*word*/) { ++words; });
  marks_ += words <= kMostWords ? words + 1 : 1;
  const std::string bytes = pre_image(address);
  if (blocks_.empty() || blocks_.back().size() + bytes.size() + line.size() > kBlock)
    blocks_.emplace_back().reserve(std::max(kBlock, bytes.size() + line.size()));
  std::string& block = blocks_.back();
  const auto here = [&block] { return static_cast<std::uint32_t>(block.size()); };
  Address& added = addresses_.emplace_back();
  added.block = static_cast<std::uint32_t>(blocks_.size() - 1);
  added.begin = here();
  block += bytes;
  added.words = here();
  block += line;
  added.end = here();
}

Canonical NearMisses::at(std::uint32_t place) const {
  const auto address = parse_pre_image(pre_image_of(addresses_.at(place)));
  GEONCE_EXPECTS(address.has_value());
  return *address;
}

NearMissReport NearMisses::find() const { return Search(*this).run(); }

std::string_view NearMisses::pre_image_of(const Address& address) const {
  return std::string_view(blocks_[address.block])
      .substr(address.begin, address.words - address.begin);
}

std::string_view NearMisses::words_of(const Address& address) const {
  return std::string_view(blocks_[address.block])
      .substr(address.words, address.end - address.words);
}

}  // namespace geonce

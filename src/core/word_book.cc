#include "core/word_book.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <span>

#include "core/each_part.h"

namespace geonce {
namespace {

using enum WordKind;  // the tables say front, last, …

struct Row {
  WordKind kind;
  std::string_view code;
  std::string_view spellings;
};
struct AdminRow {
  std::string_view code, names;
};
struct List {
  std::string_view name;
  const Row* rows;
  std::size_t size;
};

constexpr auto kAr = std::to_array<Row>({
#include "core/tables/words_ar.inc"
});
constexpr auto kAz = std::to_array<Row>({
#include "core/tables/words_az.inc"
});
constexpr auto kBe = std::to_array<Row>({
#include "core/tables/words_be.inc"
});
constexpr auto kBg = std::to_array<Row>({
#include "core/tables/words_bg.inc"
});
constexpr auto kCa = std::to_array<Row>({
#include "core/tables/words_ca.inc"
});
constexpr auto kCs = std::to_array<Row>({
#include "core/tables/words_cs.inc"
});
constexpr auto kDa = std::to_array<Row>({
#include "core/tables/words_da.inc"
});
constexpr auto kDe = std::to_array<Row>({
#include "core/tables/words_de.inc"
});
constexpr auto kEl = std::to_array<Row>({
#include "core/tables/words_el.inc"
});
constexpr auto kEn = std::to_array<Row>({
#include "core/tables/words_en.inc"
});
constexpr auto kEnAu = std::to_array<Row>({
#include "core/tables/words_en_au.inc"
});
constexpr auto kEnGb = std::to_array<Row>({
#include "core/tables/words_en_gb.inc"
});
constexpr auto kEnHk = std::to_array<Row>({
#include "core/tables/words_en_hk.inc"
});
constexpr auto kEnTw = std::to_array<Row>({
#include "core/tables/words_en_tw.inc"
});
constexpr auto kEnPh = std::to_array<Row>({
#include "core/tables/words_en_ph.inc"
});
constexpr auto kFa = std::to_array<Row>({
#include "core/tables/words_fa.inc"
});
constexpr auto kEsGt = std::to_array<Row>({
#include "core/tables/words_es_gt.inc"
});
constexpr auto kEnGulf = std::to_array<Row>({
#include "core/tables/words_en_gulf.inc"
});
constexpr auto kEnKh = std::to_array<Row>({
#include "core/tables/words_en_kh.inc"
});
constexpr auto kEsAr = std::to_array<Row>({
#include "core/tables/words_es_ar.inc"
});
constexpr auto kTh = std::to_array<Row>({
#include "core/tables/words_th.inc"
});
constexpr auto kEnIn = std::to_array<Row>({
#include "core/tables/words_en_in.inc"
});
constexpr auto kEnSg = std::to_array<Row>({
#include "core/tables/words_en_sg.inc"
});
constexpr auto kEnZa = std::to_array<Row>({
#include "core/tables/words_en_za.inc"
});
constexpr auto kEs = std::to_array<Row>({
#include "core/tables/words_es.inc"
});
constexpr auto kEsCo = std::to_array<Row>({
#include "core/tables/words_es_co.inc"
});
constexpr auto kEt = std::to_array<Row>({
#include "core/tables/words_et.inc"
});
constexpr auto kFi = std::to_array<Row>({
#include "core/tables/words_fi.inc"
});
constexpr auto kFr = std::to_array<Row>({
#include "core/tables/words_fr.inc"
});
constexpr auto kHe = std::to_array<Row>({
#include "core/tables/words_he.inc"
});
constexpr auto kHr = std::to_array<Row>({
#include "core/tables/words_hr.inc"
});
constexpr auto kHu = std::to_array<Row>({
#include "core/tables/words_hu.inc"
});
constexpr auto kHy = std::to_array<Row>({
#include "core/tables/words_hy.inc"
});
constexpr auto kId = std::to_array<Row>({
#include "core/tables/words_id.inc"
});
constexpr auto kIs = std::to_array<Row>({
#include "core/tables/words_is.inc"
});
constexpr auto kIt = std::to_array<Row>({
#include "core/tables/words_it.inc"
});
constexpr auto kKa = std::to_array<Row>({
#include "core/tables/words_ka.inc"
});
constexpr auto kLt = std::to_array<Row>({
#include "core/tables/words_lt.inc"
});
constexpr auto kLv = std::to_array<Row>({
#include "core/tables/words_lv.inc"
});
constexpr auto kNl = std::to_array<Row>({
#include "core/tables/words_nl.inc"
});
constexpr auto kNo = std::to_array<Row>({
#include "core/tables/words_no.inc"
});
constexpr auto kPl = std::to_array<Row>({
#include "core/tables/words_pl.inc"
});
constexpr auto kPt = std::to_array<Row>({
#include "core/tables/words_pt.inc"
});
constexpr auto kRo = std::to_array<Row>({
#include "core/tables/words_ro.inc"
});
constexpr auto kRu = std::to_array<Row>({
#include "core/tables/words_ru.inc"
});
constexpr auto kSk = std::to_array<Row>({
#include "core/tables/words_sk.inc"
});
constexpr auto kSl = std::to_array<Row>({
#include "core/tables/words_sl.inc"
});
constexpr auto kSq = std::to_array<Row>({
#include "core/tables/words_sq.inc"
});
constexpr auto kSr = std::to_array<Row>({
#include "core/tables/words_sr.inc"
});
constexpr auto kSv = std::to_array<Row>({
#include "core/tables/words_sv.inc"
});
constexpr auto kTr = std::to_array<Row>({
#include "core/tables/words_tr.inc"
});
constexpr auto kUk = std::to_array<Row>({
#include "core/tables/words_uk.inc"
});
constexpr auto kVi = std::to_array<Row>({
#include "core/tables/words_vi.inc"
});

template <std::size_t n>
constexpr List list(std::string_view called, const std::array<Row, n>& rows) {
  return {called, rows.data(), n};
}
constexpr std::array kLists{
    list("en_hk", kEnHk),     list("th", kTh),      list("es_ar", kEsAr), list("en_kh", kEnKh),
    list("en_gulf", kEnGulf), list("en_tw", kEnTw), list("en_ph", kEnPh), list("fa", kFa),
    list("es_gt", kEsGt),     list("ar", kAr),      list("az", kAz),      list("be", kBe),
    list("bg", kBg),          list("ca", kCa),      list("cs", kCs),      list("da", kDa),
    list("de", kDe),          list("el", kEl),      list("en", kEn),      list("en_au", kEnAu),
    list("en_gb", kEnGb),     list("en_in", kEnIn), list("en_sg", kEnSg), list("en_za", kEnZa),
    list("es", kEs),          list("es_co", kEsCo), list("et", kEt),      list("fi", kFi),
    list("fr", kFr),          list("he", kHe),      list("hr", kHr),      list("hu", kHu),
    list("hy", kHy),          list("id", kId),      list("is", kIs),      list("it", kIt),
    list("ka", kKa),          list("lt", kLt),      list("lv", kLv),      list("nl", kNl),
    list("no", kNo),          list("pl", kPl),      list("pt", kPt),      list("ro", kRo),
    list("ru", kRu),          list("sk", kSk),      list("sl", kSl),      list("sq", kSq),
    list("sr", kSr),          list("sv", kSv),      list("tr", kTr),      list("uk", kUk),
    list("vi", kVi),
};

constexpr auto kAdminsAu = std::to_array<AdminRow>({
#include "core/tables/admins_au.inc"
});
constexpr auto kAdminsMy = std::to_array<AdminRow>({
#include "core/tables/admins_my.inc"
});
constexpr auto kAdminsAr = std::to_array<AdminRow>({
#include "core/tables/admins_ar.inc"
});
constexpr auto kAdminsHk = std::to_array<AdminRow>({
#include "core/tables/admins_hk.inc"
});
constexpr auto kAdminsEs = std::to_array<AdminRow>({
#include "core/tables/admins_es.inc"
});
constexpr auto kAdminsCo = std::to_array<AdminRow>({
#include "core/tables/admins_co.inc"
});
constexpr auto kAdminsId = std::to_array<AdminRow>({
#include "core/tables/admins_id.inc"
});
constexpr auto kAdminsCn = std::to_array<AdminRow>({
#include "core/tables/admins_cn.inc"
});
constexpr auto kAdminsPk = std::to_array<AdminRow>({
#include "core/tables/admins_pk.inc"
});
constexpr auto kAdminsZa = std::to_array<AdminRow>({
#include "core/tables/admins_za.inc"
});
constexpr auto kAdminsGb = std::to_array<AdminRow>({
#include "core/tables/admins_gb.inc"
});
constexpr auto kAdminsNg = std::to_array<AdminRow>({
#include "core/tables/admins_ng.inc"
});
constexpr auto kAdminsJp = std::to_array<AdminRow>({
#include "core/tables/admins_jp.inc"
});
constexpr auto kAdminsKr = std::to_array<AdminRow>({
#include "core/tables/admins_kr.inc"
});
constexpr auto kAdminsBr = std::to_array<AdminRow>({
#include "core/tables/admins_br.inc"
});
constexpr auto kAdminsIn = std::to_array<AdminRow>({
#include "core/tables/admins_in.inc"
});
constexpr auto kAdminsIt = std::to_array<AdminRow>({
#include "core/tables/admins_it.inc"
});
constexpr auto kAdminsMx = std::to_array<AdminRow>({
#include "core/tables/admins_mx.inc"
});
constexpr auto kAdminsTr = std::to_array<AdminRow>({
#include "core/tables/admins_tr.inc"
});

std::span<const AdminRow> admins(std::string_view list) {
  if (list == "au") return kAdminsAu;
  if (list == "my") return kAdminsMy;
  if (list == "ar") return kAdminsAr;
  if (list == "hk") return kAdminsHk;
  if (list == "es") return kAdminsEs;
  if (list == "co") return kAdminsCo;
  if (list == "id") return kAdminsId;
  if (list == "cn") return kAdminsCn;
  if (list == "pk") return kAdminsPk;
  if (list == "za") return kAdminsZa;
  if (list == "gb") return kAdminsGb;
  if (list == "ng") return kAdminsNg;
  if (list == "jp") return kAdminsJp;
  if (list == "kr") return kAdminsKr;
  if (list == "br") return kAdminsBr;
  if (list == "in") return kAdminsIn;
  if (list == "it") return kAdminsIt;
  if (list == "mx") return kAdminsMx;
  if (list == "tr") return kAdminsTr;
  GEONCE_EXPECTS(list.empty());
  return {};
}

constexpr std::uint16_t bit(WordKind kind) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind));
}

}  // namespace

const WordBook& WordBook::of(const CountryRules& rules, Country country) {
  struct Shelf {
    std::mutex mutex;
    std::unordered_map<std::string_view, std::unique_ptr<const WordBook>> books;
  };
  static Shelf& shelf = *new Shelf;  // never torn down: threads may outlive main
  const std::lock_guard lock(shelf.mutex);
  auto& book = shelf.books[rules.countries];
  if (!book) {
    auto made = std::make_unique<WordBook>();
    TextFolder folder;
    each_part(rules.words, ' ', [&](std::string_view list) { made->add(list, folder, country); });
    for (const std::string_view spelling : {"po box", "p o box"})
      made->add_word(WordKind::box, "pobox", spelling, folder, country);
    for (const AdminRow& row : admins(rules.admins)) {
      made->add_word(WordKind::admin, row.code, row.code, folder, country);
      each_part(row.names, ';', [&](std::string_view spelling) {
        const bool is_also_a_town = spelling.ends_with('~');
        if (is_also_a_town) spelling.remove_suffix(1);
        const auto kind = is_also_a_town ? WordKind::state : WordKind::admin;
        made->add_word(kind, row.code, spelling, folder, country);
      });
    }
    std::ranges::stable_sort(made->tails_, [](const TailWord& a, const TailWord& b) {
      return a.spelling.size() > b.spelling.size();
    });
    book = std::move(made);
  }
  return *book;
}

void WordBook::add(std::string_view wanted, TextFolder& folder, Country country) {
  const auto* const found = std::ranges::find(kLists, wanted, &List::name);
  GEONCE_EXPECTS(found != kLists.end());
  for (std::size_t i = 0; i < found->size; ++i) {
    const Row& row = found->rows[i];
    each_part(row.spellings, ';', [&](std::string_view spelling) {
      add_word(row.kind, row.code, spelling, folder, country);
    });
    // What was written with a code reads back.
    if (!row.code.empty() && row.kind != WordKind::tail)
      add_word(row.kind, row.code, row.code, folder, country);
  }
}

/// The tables are written as people write; here a word becomes what the text becomes.
void WordBook::add_word(WordKind kind,
                        std::string_view code,
                        std::string_view spelling,
                        TextFolder& folder,
                        Country country) {
  const bool needs_stop = spelling.ends_with('!');
  if (needs_stop) spelling.remove_suffix(1);
  std::string letters;
  GEONCE_EXPECTS(folder.fold(spelling, diacritics_of(country), letters).has_value());
  Tokens tokens;
  tokenize(letters, token_rules_of(country), tokens);
  GEONCE_EXPECTS(tokens.size() >= 1 && tokens.size() <= kLongest);
  if (kind == WordKind::tail) {
    tails_.push_back({tokens.text, {kind, needs_stop, std::string(code)}});
    return;
  }
  WordEntry& entry = words_[tokens.text];
  // An earlier list of the country may have said it already.
  if ((entry.kinds & bit(kind)) != 0) {
    for (WordUse& use : entry.uses)
      if (use.kind == kind) use.needs_stop = use.needs_stop && needs_stop;
    return;
  }
  entry.kinds = static_cast<std::uint16_t>(entry.kinds | bit(kind));
  entry.uses.push_back({kind, needs_stop, std::string(code)});
  if (tokens.size() == 1) return;
  WordEntry& first = words_[std::string(tokens.view(0))];
  first.longer = static_cast<std::uint16_t>(first.longer | bit(kind));
}

void WordBook::look_up(const Tokens& tokens, Text& out) const {
  static const WordEntry kUnknown;
  out.tokens = &tokens;
  out.entries.clear();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto it = tokens[i].is_number() ? words_.end() : words_.find(tokens.view(i));
    out.entries.push_back(it == words_.end() ? &kUnknown : &it->second);
  }
}

const WordUse* WordBook::find(WordKind kind,
                              const Text& text,
                              std::size_t first,
                              std::size_t last) const {
  const Tokens& tokens = *text.tokens;
  const WordEntry* entry = text.entries[first];
  if (last - first > 1) {
    if ((entry->longer & bit(kind)) == 0) return nullptr;
    for (std::size_t i = first + 1; i < last; ++i)
      if (tokens[i].after_break) return nullptr;
    const auto it = words_.find(tokens.view(first, last));
    if (it == words_.end()) return nullptr;
    entry = &it->second;
  }
  if ((entry->kinds & bit(kind)) == 0) return nullptr;
  for (const WordUse& use : entry->uses)
    if (use.kind == kind && (!use.needs_stop || tokens[last - 1].dotted)) return &use;
  return nullptr;
}

WordBook::Found WordBook::at(WordKind kind,
                             const Text& text,
                             std::size_t i,
                             std::size_t last) const {
  if (i >= last || ((text.entries[i]->kinds | text.entries[i]->longer) & bit(kind)) == 0) return {};
  for (std::size_t count = std::min(kLongest, last - i); count >= 1; --count)
    if (const WordUse* use = find(kind, text, i, i + count)) return {use->code, count};
  return {};
}

WordBook::Found WordBook::before(WordKind kind,
                                 const Text& text,
                                 std::size_t first,
                                 std::size_t last) const {
  if (first >= last) return {};
  for (std::size_t count = std::min(kLongest, last - first); count >= 1; --count)
    if (const WordUse* use = find(kind, text, last - count, last)) return {use->code, count};
  return {};
}

WordBook::Found WordBook::word(WordKind kind, std::string_view text) const {
  const auto it = words_.find(text);
  if (it == words_.end() || (it->second.kinds & bit(kind)) == 0) return {};
  for (const WordUse& use : it->second.uses)
    if (use.kind == kind && !use.needs_stop) return {use.code, 1};
  return {};
}

WordBook::Tail WordBook::tail(const Token& token, std::string_view text) const {
  for (const TailWord& word : tails_)
    if (text.size() > word.spelling.size() && text.ends_with(word.spelling) &&
        (!word.use.needs_stop || token.dotted))
      return {word.use.code, word.spelling.size()};
  return {};
}

}  // namespace geonce

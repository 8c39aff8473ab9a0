#include "core/normalize_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

namespace geonce {
namespace {

constexpr std::size_t index(char c) { return static_cast<unsigned char>(c); }
constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_ascii_letter(char c) { return c >= 'a' && c <= 'z'; }

/// What becomes of an ASCII character.
constexpr std::array<char, 128> kAscii = [] {
  std::array<char, 128> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto c = static_cast<char>(i);
    if (c >= 'A' && c <= 'Z') {
      table[i] = static_cast<char>(c - 'A' + 'a');
    } else {
      table[i] = c <= ' ' || c == 0x7F ? ' ' : c;
    }
  }
  for (const char c : std::string_view("\"@*!?_<>{}=~")) table[index(c)] = ' ';
  for (const char c : std::string_view("\n\r;()[]|")) table[index(c)] = ',';
  table['`'] = '\'';
  return table;
}();

bool is_ascii(std::string_view bytes) {
  std::uint64_t seen = 0;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + i, 8);
    seen |= eight;
  }
  for (; i < bytes.size(); ++i) seen |= static_cast<unsigned char>(bytes[i]);
  return (seen & 0x8080808080808080U) == 0;
}

void append(std::string& out, UChar32 c) {
  std::array<char, U8_MAX_LENGTH> bytes{};
  std::size_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  out.append(bytes.data(), length);
}

// The macro narrows inside itself.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
/// The code point at `at`, which moves behind it; -1 is an invalid sequence.
UChar32 next_code_point(std::string_view text, std::size_t& at) {
  UChar32 c = 0;
  U8_NEXT(text, at, text.size(), c);
  return c;
}
#pragma GCC diagnostic pop

/// Walks the code points of a valid or invalid text; -1 is an invalid sequence.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text) {}
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  UChar32 next() { return next_code_point(text_, at_); }
  [[nodiscard]] UChar32 peek() const {
    std::size_t at = at_;
    return done() ? 0 : next_code_point(text_, at);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr UChar32 kFeminineOrdinal = 0xAA;
constexpr UChar32 kMasculineOrdinal = 0xBA;
constexpr UChar32 kDegree = 0xB0;
constexpr UChar32 kNumero = 0x2116;
constexpr UChar32 kDotAbove = 0x307;

/// The normal forms of Unicode 15.0, whatever the version of the library: code points it does not
/// know pass through. The ordinal marks stay letters of their own (1ª is not 1a).
struct Unicode {
  icu::UnicodeSet assigned, folded;
  std::unique_ptr<icu::FilteredNormalizer2> fold, decompose, compose;
  bool ok = false;

  Unicode() {
    UErrorCode status = U_ZERO_ERROR;
    assigned.applyPattern(u"[:age=15.0:]", status);
    folded = assigned;
    folded.remove(kFeminineOrdinal).remove(kMasculineOrdinal);
    assigned.freeze();
    folded.freeze();
    const auto* nfkc_fold = icu::Normalizer2::getNFKCCasefoldInstance(status);
    const auto* nfd = icu::Normalizer2::getNFDInstance(status);
    const auto* nfc = icu::Normalizer2::getNFCInstance(status);
    ok = U_SUCCESS(status) != 0;
    if (!ok) return;
    fold = std::make_unique<icu::FilteredNormalizer2>(*nfkc_fold, folded);
    decompose = std::make_unique<icu::FilteredNormalizer2>(*nfd, assigned);
    compose = std::make_unique<icu::FilteredNormalizer2>(*nfc, assigned);
  }
};

const Unicode& unicode() {
  static const Unicode kUnicode;
  return kUnicode;
}

/// errors    internal  the Unicode library refused
bool apply(const icu::Normalizer2& form, std::string_view in, std::string& out) {
  UErrorCode status = U_ZERO_ERROR;
  out.clear();
  icu::StringByteSink<std::string> sink(&out);
  form.normalizeUTF8(
      0, icu::StringPiece(in.data(), static_cast<std::int32_t>(in.size())), sink, nullptr, status);
  return U_SUCCESS(status) != 0;
}

bool has_digit(const icu::UnicodeString& text) {
  for (std::int32_t i = 0; i < text.length(); ++i)
    if (text[i] >= u'0' && text[i] <= u'9') return true;
  return false;
}

/// Characters that hold digits (½ ² ① ㏠) would glue them to their neighbours when they are taken
/// apart: 12½ is not 121/2, 5² is not 52.
bool append_without_glue(UChar32 c, std::string& out) {
  const auto type = u_charType(c);
  if (type != U_OTHER_NUMBER && type != U_OTHER_SYMBOL) return false;
  icu::UnicodeString mapping;
  if (unicode().fold->getDecomposition(c, mapping) == 0 || !has_digit(mapping)) return false;
  std::string digits;
  mapping.toUTF8String(digits);
  const auto decomposition = u_getIntPropertyValue(c, UCHAR_DECOMPOSITION_TYPE);
  if (decomposition == U_DT_SUPER || decomposition == U_DT_SUB) {
    out += '^';
    out += digits;
    return true;
  }
  out += ' ';
  out += digits;
  if (c != 0x215F) out += ' ';  // FRACTION NUMERATOR ONE waits for its denominator
  return true;
}

/// Step 3: what has to be said before compatibility forms are taken apart. False: invalid UTF-8.
bool separate(std::string_view bytes, std::string& out) {
  out.clear();
  UChar32 before = 0;
  UChar32 before_that = 0;
  const auto is_lone_n = [&] {
    return (before == 'n' || before == 'N') && !u_isalnum(before_that);
  };
  for (CodePoints points(bytes); !points.done();) {
    UChar32 c = points.next();
    if (c < 0) return false;
    if (c < 0x80) {
      if (c == '.' && points.peek() == kMasculineOrdinal) continue;  // 1.º, n.º
      out += static_cast<char>(c);
      before_that = std::exchange(before, c);
      continue;
    }
    if (c == kDegree && u_isdigit(before)) c = kMasculineOrdinal;
    if ((c == kDegree || c == kMasculineOrdinal) && is_lone_n()) {
      out += "o ";
      c = ' ';
    } else if (c == kNumero) {
      out += " no ";
      c = ' ';
    } else if ((c == 0x30FC || c == 0x301C || c == 0xFF5E || c == 0x2501 || c == 0x2500) &&
               u_isdigit(before) && u_isdigit(points.peek())) {  // ー 〜 ～ ━ ─ as a dash
      out += '-';
    } else if (!append_without_glue(c, out)) {
      append(out, c);
    }
    before_that = std::exchange(before, c);
  }
  return true;
}

/// The ASCII character that stands for one outside ASCII, 0 when there is none.
char plain(UChar32 c) {
  switch (c) {
    case 0x2019:
    case 0x2018:
    case 0x201B:
    case 0x02BC:
    case 0x02B9:
    case 0x00B4:
    case 0x2032:
    case 0x02BB:
      return '\'';
    case 0x060C:
    case 0x3001:
    case 0x061B:
    case 0x2028:
    case 0x2029:
    case 0x0085:
      return ',';
    case 0x3002:
      return '.';
    case 0x2212:
      return '-';
    case 0x2044:
    case 0x2215:  // fraction slash, division slash
      return '/';
    case 0x201C:
    case 0x201D:
    case 0x201E:
    case 0x201F:
    case 0x2039:
    case 0x203A:
    case 0x00AB:
    case 0x00BB:
    case 0x300C:
    case 0x300D:
    case 0x300E:
    case 0x300F:
      return ' ';
    default:
      break;
  }
  switch (u_charType(c)) {
    case U_DASH_PUNCTUATION:
      return '-';
    case U_CONTROL_CHAR:
    case U_SPACE_SEPARATOR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
      return ' ';
    case U_DECIMAL_DIGIT_NUMBER:
      return static_cast<char>('0' + u_charDigitValue(c));
    default:
      return 0;
  }
}

/// Steps 5 and 6 on text in NFKC_Casefold.
void plainly(std::string_view in, std::string& out) {
  out.clear();
  for (CodePoints points(in); !points.done();) {
    UChar32 c = points.next();
    if (c == 0x0131) c = 'i';                                           // ı: KADIKÖY = Kadıköy
    if (c == kDotAbove && !out.empty() && out.back() == 'i') continue;  // what İ leaves behind
    if (c < 0x80) {
      out += kAscii[static_cast<std::size_t>(c)];
    } else if ((c == 0x066B || c == 0x066C) && !out.empty() && is_ascii_digit(out.back()) &&
               u_isdigit(points.peek())) {  // Arabic decimal and thousands separators
      out += c == 0x066B ? '.' : ',';
    } else if (const char ascii = plain(c); ascii != 0) {
      out += ascii;
    } else {
      append(out, c);
    }
  }
}

bool is_mark(UChar32 c) { return (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; }

/// Step 7 on decomposed text.
void without_marks(std::string_view in, Diacritics diacritics, std::string& out) {
  constexpr UChar32 kTilde = 0x303;
  constexpr UChar32 kDiaeresis = 0x308;
  constexpr UChar32 kAcute = 0x301;
  constexpr UChar32 kCedilla = 0x327;
  constexpr UChar32 kCommaBelow = 0x326;
  constexpr UChar32 kRing = 0x30A;
  out.clear();
  UChar32 base = 0;
  for (CodePoints points(in); !points.done();) {
    UChar32 c = points.next();
    if (!is_mark(c)) {
      base = c;
      switch (diacritics) {
        case Diacritics::latin:
        case Diacritics::spanish:
        case Diacritics::german:
          if (c == 0xE6) {
            out += "ae";
            continue;
          }  // æ
          if (c == 0x153) {
            out += "oe";
            continue;
          }  // œ
          if (c == 0xF8) {
            out += 'o';
            continue;
          }  // ø
          break;
        case Diacritics::danish:
          if (c == 0xE6) {
            out += "ae";
            continue;
          }
          if (c == 0xF8) {
            out += "oe";
            continue;
          }
          break;
        case Diacritics::semitic:
          if (c == 0x640) continue;  // tatweel
          break;
        case Diacritics::taiwan:
          if (c == 0x81FA) c = 0x53F0;
          break;
        default:
          break;
      }
      append(out, c);
      continue;
    }
    UErrorCode status = U_ZERO_ERROR;
    const auto script = uscript_getScript(base, &status);
    switch (diacritics) {
      case Diacritics::spanish:
        if (script == USCRIPT_LATIN && !(base == 'n' && c == kTilde)) continue;
        break;
      case Diacritics::german:
        if (script == USCRIPT_LATIN) {
          if (c == kDiaeresis && (base == 'a' || base == 'o' || base == 'u')) out += 'e';
          continue;
        }
        break;
      case Diacritics::danish:
        if (script == USCRIPT_LATIN) {
          if (c == kRing && base == 'a') out += 'a';
          continue;
        }
        break;
      case Diacritics::latin:
        if (script == USCRIPT_LATIN) continue;
        break;
      case Diacritics::romanian:
        if (c == kCedilla && (base == 's' || base == 't')) c = kCommaBelow;
        break;
      case Diacritics::greek:
        if (script == USCRIPT_GREEK && c == kAcute) continue;
        break;
      case Diacritics::russian:
        if (base == 0x435 && c == kDiaeresis) continue;  // ё
        break;
      case Diacritics::semitic:
        if ((c >= 0x0591 && c <= 0x05C7) || (c >= 0x064B && c <= 0x0652) || c == 0x0670) continue;
        break;
      case Diacritics::keep:
      case Diacritics::taiwan:
        break;
    }
    append(out, c);
  }
}

bool is_cjk(UChar32 c) {
  return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0x3005 && c <= 0x3007) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x3FFFF) || (c >= 0x31F0 && c <= 0x31FF);
}

/// Would join the letter before it into another one: marks, and the vowels and finals of Hangul.
bool clings(UChar32 c) { return is_mark(c) || (c >= 0x1160 && c <= 0x11FF); }

constexpr std::array<std::string_view, 14> kElisions{
    "l", "d", "qu", "s", "n", "j", "m", "c", "dell", "all", "nell", "sull", "un", "sant"};
constexpr std::array<std::string_view, 8> kContractions{
    "v.le", "v.lo", "p.za", "p.zza", "p.le", "c.so", "c.da", "l.go"};

enum class Glyph : std::uint8_t {
  letter,
  digit,
  space,
  comma,
  stop,
  apostrophe,
  dash,
  slash,
  mark
};

constexpr std::array<Glyph, 256> kGlyphs = [] {
  std::array<Glyph, 256> table{};  // letter, also for every byte outside ASCII
  for (char c = '0'; c <= '9'; ++c) table[index(c)] = Glyph::digit;
  table[' '] = Glyph::space;
  table[','] = Glyph::comma;
  table['.'] = Glyph::stop;
  table['\''] = Glyph::apostrophe;
  table['-'] = Glyph::dash;
  table['/'] = Glyph::slash;
  table[':'] = Glyph::space;
  table['#'] = table['&'] = table['+'] = Glyph::mark;
  return table;
}();

Glyph glyph(char c) { return kGlyphs[index(c)]; }

class Tokenizer {
 public:
  Tokenizer(std::string_view in, TokenRules rules, Tokens& out)
      : in_(in), rules_(rules), out_(out) {
    // Marks that stand alone get a space each, so twice the bytes are room enough.
    const std::size_t written = out.text.size();
    out.text.resize(written + 2 * in.size() + 1);
    text_ = out.text.data();
    to_ = text_ + written;
  }

  void run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      switch (glyph(c)) {
        case Glyph::letter:
          if (static_cast<unsigned char>(c) >= 0x80) {
            beyond_ascii();
          } else {
            put_run(Token::letters);
          }
          break;
        case Glyph::digit:
          if (open_ && last_is_cjk_) close();
          put_run(Token::digits);
          break;
        case Glyph::space:
          close();
          break;
        case Glyph::comma:
          close();
          break_ = true;
          break;
        case Glyph::stop:
          stop();
          break;
        case Glyph::apostrophe:
          apostrophe();
          break;
        case Glyph::dash:
          dash();
          break;
        case Glyph::slash:
          slash();
          break;
        case Glyph::mark:
          alone(c == '+' ? '&' : c);
          break;
      }
      ++at_;
    }
    close();
    out_.text.resize(size());
  }

 private:
  [[nodiscard]] char before() const { return at_ == 0 ? ' ' : in_[at_ - 1]; }
  [[nodiscard]] char after(std::size_t distance = 1) const {
    return at_ + distance < in_.size() ? in_[at_ + distance] : ' ';
  }
  [[nodiscard]] static bool is_word(char c) {
    return glyph(c) == Glyph::letter || glyph(c) == Glyph::digit;
  }
  /// A mark may be left out here without changing the letter before it.
  [[nodiscard]] bool may_close_the_gap() const {
    if (static_cast<unsigned char>(after()) < 0x80) return true;
    return !clings(CodePoints(in_.substr(at_ + 1)).peek());
  }
  [[nodiscard]] std::string_view current() const {
    return open_ ? std::string_view(text_ + token_.begin, to_) : std::string_view();
  }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(to_ - text_); }

  void put(char c, Token::Kind kind) {
    if (!open_) open();
    *to_++ = c;
    token_.kind = static_cast<std::uint8_t>(token_.kind | kind);
    last_is_cjk_ = false;
  }

  /// All characters of one kind from here, at once; at_ stays on the last of them.
  void put_run(Token::Kind kind) {
    const Glyph wanted = kind == Token::digits ? Glyph::digit : Glyph::letter;
    if (!open_) open();
    token_.kind = static_cast<std::uint8_t>(token_.kind | kind);
    last_is_cjk_ = false;
    // In locals, which no byte that is written can change.
    const char* from = in_.data() + at_;
    const char* const end = in_.data() + in_.size();
    char* to = to_;
    do *to++ = *from++;
    while (from != end && glyph(*from) == wanted && static_cast<unsigned char>(*from) < 0x80);
    to_ = to;
    at_ = static_cast<std::size_t>(from - in_.data()) - 1;
  }

  void beyond_ascii() {
    const std::size_t begin = at_;
    const bool cjk = is_cjk(next_code_point(in_, at_));
    if (open_ && cjk && is_ascii_digit(to_[-1])) close();
    if (!open_) open();
    to_ = std::copy(in_.data() + begin, in_.data() + at_, to_);
    token_.kind = static_cast<std::uint8_t>(token_.kind | Token::letters);
    last_is_cjk_ = cjk;
    --at_;  // run() steps on
  }

  void open() {
    if (to_ != text_) *to_++ = ' ';
    token_ = Token{};
    token_.begin = static_cast<std::uint16_t>(size());
    token_.after_break = break_;
    token_.after_hyphen = hyphen_;
    open_ = true;
    break_ = hyphen_ = initials_ = false;
    last_is_cjk_ = false;
  }

  void close() {
    hyphen_ = false;
    if (!open_) return;
    token_.end = static_cast<std::uint16_t>(size());
    out_.items.push_back(token_);
    open_ = false;
  }

  void alone(char c) {
    close();
    put(c, Token::marks);
    close();
  }

  /// Kept in 39.2; joins initials (N.E., P.O.Box, C.A.B.A.); ends every other word.
  void stop() {
    if (is_ascii_digit(before()) && is_ascii_digit(after())) return put('.', Token::marks);
    if (!open_) return;
    token_.dotted = true;
    const bool single = current().size() == 1 && is_ascii_letter(current()[0]);
    if ((single || initials_) && is_ascii_letter(before()) && is_ascii_letter(after()) &&
        !is_word(after(2)) && after(2) != '\'') {
      initials_ = true;
      return;
    }
    if (rules_.joins_contractions && single && is_ascii_letter(after())) {
      for (const auto contraction : kContractions) {
        const auto rest = in_.substr(at_ - 1);
        if (rest.starts_with(contraction) &&
            (rest.size() == contraction.size() || !is_word(rest[contraction.size()])))
          return;
      }
    }
    close();
  }

  /// Left out (O'Hara, King's), except where it stands for a vowel between two words (l'Étoile).
  void apostrophe() {
    if (is_ascii_digit(before()) || is_ascii_digit(after()) || !may_close_the_gap()) return close();
    if (!open_ || !rules_.splits_elisions || !is_word(after())) return;
    for (const auto elision : kElisions)
      if (current() == elision) return close();
  }

  void dash() {
    const bool left = is_word(before());
    const bool right = is_word(after());
    if (!left || !right) return lone_dash();
    const bool digit_before = is_ascii_digit(before());
    const bool digit_after = is_ascii_digit(after());
    if (!digit_before && !digit_after) {  // two words
      close();
      hyphen_ = true;
      return;
    }
    // 12-A is 12a; 12-34, A-12 and 12-II stay as they are.
    const bool letter_ends_word = !is_word(after(2)) && (after(2) != '\'' || !is_word(after(3)));
    const bool one_letter = digit_before && is_ascii_letter(after()) && letter_ends_word;
    if (one_letter && token_.is_number()) return;
    put('-', Token::marks);
  }

  /// A dash with a space beside it ends a field, but between two numbers it is content.
  void lone_dash() {
    const auto left = in_.substr(0, at_).find_last_not_of(" -");
    const auto right = in_.find_first_not_of(" -", at_);
    close();
    if (left == std::string_view::npos || right == std::string_view::npos) return;
    if (is_ascii_digit(in_[left]) && is_ascii_digit(in_[right])) {
      alone('-');
    } else if (before() == ' ' && after() == ' ') {
      break_ = true;
    }
    at_ = right - 1;
  }

  void slash() {
    if (is_word(before()) && is_word(after()) &&
        (is_ascii_digit(before()) || is_ascii_digit(after())))
      return put('/', Token::marks);
    const auto left = in_.substr(0, at_).find_last_not_of(' ');
    const auto right = in_.find_first_not_of(' ', at_ + 1);
    close();
    if (left != std::string_view::npos && right != std::string_view::npos &&
        is_ascii_digit(in_[left]) && is_ascii_digit(in_[right]))
      alone('/');
  }

  std::string_view in_;
  TokenRules rules_;
  Tokens& out_;
  char* text_ = nullptr;  // of out_
  char* to_ = nullptr;    // where the next byte goes
  std::size_t at_ = 0;
  Token token_;
  bool open_ = false;         // token_ is being written
  bool break_ = true;         // a comma stood since the last token
  bool hyphen_ = false;       // a hyphen joins the next token to the last
  bool initials_ = false;     // the open token is N.E. or the like
  bool last_is_cjk_ = false;  // its last character is Han, Kana or Hangul
};

}  // namespace

/// What single characters become under one convention, learnt as they are met.
struct LetterTable {
  enum State : std::uint8_t { unknown, alone, not_alone };
  struct Entry {
    std::array<char, 6> bytes{};
    std::uint8_t size = 0;
    State state = unknown;
  };
  // Latin to Cyrillic and Hebrew's neighbours; general punctuation; full width. Beyond these, Han,
  // Kana and Hangul syllables stay as they are.
  static constexpr UChar32 kLetters = 0x530, kPunctuation = 0x2000, kWide = 0xFF00;
  static constexpr UChar32 kPunctuations = 0x70, kWides = 0x61;
  std::array<Entry, kLetters + kPunctuations + kWides> entries;

  /// nullptr: a character outside.
  Entry* find(UChar32 c) {
    if (c < kLetters) return &entries[static_cast<std::size_t>(c)];
    if (c >= kPunctuation && c < kPunctuation + kPunctuations)
      return &entries[static_cast<std::size_t>(kLetters + c - kPunctuation)];
    if (c >= kWide && c < kWide + kWides)
      return &entries[static_cast<std::size_t>(kLetters + kPunctuations + c - kWide)];
    return nullptr;
  }
};

struct TextFolder::Buffers {
  std::string first, second;
  static constexpr std::size_t kConventions = static_cast<std::size_t>(Diacritics::taiwan) + 1;
  std::array<std::unique_ptr<LetterTable>, kConventions> tables;
};

namespace {

bool stays_as_it_is(UChar32 c, Diacritics diacritics) {
  if (c == 0x81FA) return diacritics != Diacritics::taiwan;
  return (c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA) ||
         (c >= 0x4E00 && c <= 0x9FFC) || (c >= 0xAC00 && c <= 0xD7A3);
}

/// Learns what becomes of `c`, and whether that is the same beside letters and digits.
void learn(UChar32 c, Diacritics diacritics, TextFolder& folder, LetterTable::Entry& entry) {
  entry.state = LetterTable::not_alone;
  if (is_mark(c)) return;
  std::string letter;
  append(letter, c);
  std::string folded;
  if (!folder.fold_at_length(letter, diacritics, folded) || folded.size() > entry.bytes.size())
    return;
  for (const std::string before : {"a", "1", "n", "i", "e", "s", ".", " "}) {
    for (const std::string after : {"b", "1", "."}) {
      std::string inside;
      if (!folder.fold_at_length(before + letter + after, diacritics, inside) ||
          inside != before + folded + after)
        return;
    }
  }
  std::ranges::copy(folded, entry.bytes.begin());
  entry.size = static_cast<std::uint8_t>(folded.size());
  entry.state = LetterTable::alone;
}

}  // namespace

/// False: some letter depends on its neighbours, or is none; `out` is not to be used.
bool TextFolder::fold_by_letter(std::string_view bytes, Diacritics diacritics, std::string& out) {
  auto& table = buffers_->tables.at(static_cast<std::size_t>(diacritics));
  if (!table) table = std::make_unique<LetterTable>();
  out.clear();
  for (std::size_t i = 0; i < bytes.size();) {
    if (static_cast<unsigned char>(bytes[i]) < 0x80) {
      out += kAscii[index(bytes[i++])];
      continue;
    }
    const std::size_t begin = i;
    const UChar32 c = next_code_point(bytes, i);
    if (c < 0) return false;
    if (stays_as_it_is(c, diacritics)) {
      out.append(bytes, begin, i - begin);
      continue;
    }
    LetterTable::Entry* entry = table->find(c);
    if (entry == nullptr) return false;
    if (entry->state == LetterTable::unknown) learn(c, diacritics, *this, *entry);
    if (entry->state != LetterTable::alone) return false;
    out.append(entry->bytes.data(), entry->size);
  }
  return true;
}

TextFolder::TextFolder() = default;
TextFolder::~TextFolder() = default;

Result<void> TextFolder::fold(std::string_view bytes, Diacritics diacritics, std::string& out) {
  if (is_ascii(bytes)) {
    out.resize(bytes.size());
    std::ranges::transform(bytes, out.data(), [](char c) { return kAscii[index(c)]; });
    return {};
  }
  if (!buffers_) buffers_ = std::make_unique<Buffers>();
  if (fold_by_letter(bytes, diacritics, out)) return {};
  return fold_at_length(bytes, diacritics, out);
}

Result<void> TextFolder::fold_at_length(std::string_view bytes,
                                        Diacritics diacritics,
                                        std::string& out) {
  if (!buffers_) buffers_ = std::make_unique<Buffers>();
  auto& first = buffers_->first;
  auto& second = buffers_->second;
  const Unicode& forms = unicode();
  if (!forms.ok) return fail(ErrorCode::internal, "the Unicode library has no data");
  if (!separate(bytes, first))
    return fail(ErrorCode::invalid_address, "the address is not valid UTF-8");
  bool done = apply(*forms.fold, first, second);
  plainly(second, first);
  if (done && is_ascii(first)) {  // typographic apostrophes, full width
    out = first;
    return {};
  }
  if (diacritics != Diacritics::keep) {
    done = done && apply(*forms.decompose, first, second);
    without_marks(second, diacritics, first);
  }
  done = done && apply(*forms.compose, first, out);
  if (!done)
    return fail(ErrorCode::internal, "the Unicode library could not normalise the address");
  return {};
}

Diacritics diacritics_of(Country country) {
  struct Row {
    Diacritics diacritics;
    std::string_view countries;
  };
  // docs/formats/key.md, "Letters", says why each is safe; a country not named keeps its marks.
  constexpr std::array<Row, 9> kRows{{
      {Diacritics::latin,
       "US PR VI GU AS MP UM CA GB IM JE GG IE AU NZ FR GP MQ GF RE YT PM BL MF WF PF NC MC BE LU "
       "NL IT "
       "SM VA PT BR AO MZ"},
      {Diacritics::spanish, "ES AD MX AR CO CL PE VE EC BO PY UY CR CU DO GT HN NI PA SV GQ PH"},
      {Diacritics::german, "DE AT CH LI"},
      {Diacritics::danish, "DK NO FO GL SJ"},
      {Diacritics::romanian, "RO MD"},
      {Diacritics::greek, "GR CY"},
      {Diacritics::russian, "RU BY KZ KG"},
      {Diacritics::semitic, "IL PS SA AE EG JO LB SY IQ KW QA BH OM YE LY TN DZ MA SD IR AF PK MR"},
      {Diacritics::taiwan, "TW"},
  }};
  for (const auto& [diacritics, countries] : kRows)
    if (countries.find(country.code()) != std::string_view::npos) return diacritics;
  return Diacritics::keep;
}

TokenRules token_rules_of(Country country) {
  constexpr std::string_view kElision =
      "FR GP MQ GF RE YT PM BL MF WF PF NC MC BE CH LU IT SM VA CA";
  const auto code = country.code();
  return {.splits_elisions = kElision.find(code) != std::string_view::npos,
          .joins_contractions = code == "IT" || code == "SM" || code == "VA"};
}

void tokenize(std::string_view folded, TokenRules rules, Tokens& out) {
  Tokenizer(folded, rules, out).run();
}

}  // namespace geonce

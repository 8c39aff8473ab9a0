// Whatever a second reader says of whatever text: no crash, and a key that can be made again. The
// lines of the input: the country, the text, and then the reader's parts, each a label, a blank and
// words. Without such parts the words of the text are dealt out to the labels in turn.
#include <array>
#include <cstdint>

#include "core/normalize.h"
#include "support/scripted_reader.h"

namespace {

std::string_view line_of(std::string_view& rest) {
  const auto end = std::min(rest.find('\n'), rest.size());
  const auto line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

/// Says of each text what the input says, or takes its words in turn.
class FuzzedReader final : public geonce::SecondReader {
 public:
  explicit FuzzedReader(std::string_view lines) : lines_(lines) {}
  const std::string& backend() const override { return backend_; }
  std::vector<geonce::Result<std::vector<geonce::TextPart>>> read(
      std::span<const std::string> texts) override {
    std::vector<geonce::Result<std::vector<geonce::TextPart>>> said;
    for (const std::string& text : texts)
      said.emplace_back(lines_.empty() ? dealt(text) : written());
    return said;
  }

 private:
  std::vector<geonce::TextPart> written() const {
    std::vector<geonce::TextPart> parts;
    for (std::string_view rest = lines_; !rest.empty();) {
      const auto line = line_of(rest);
      const auto blank = std::min(line.find(' '), line.size());
      parts.push_back({std::string(line.substr(0, blank)), std::string(line.substr(blank))});
    }
    return parts;
  }
  static std::vector<geonce::TextPart> dealt(std::string_view text) {
    constexpr std::array kLabels{"house_number",
                                 "road",
                                 "road",
                                 "unit",
                                 "suburb",
                                 "city",
                                 "state",
                                 "postcode",
                                 "house",
                                 "po_box",
                                 "country"};
    std::vector<geonce::TextPart> parts;
    for (std::size_t i = text.size(); !text.empty(); ++i) {
      const auto end = std::min(text.find(' '), text.size());
      parts.push_back({kLabels[i % kLabels.size()], std::string(text.substr(0, end))});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
  }
  std::string_view lines_;
  std::string backend_ = "p:0123456789abcdef";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geonce;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  QueryView query;
  query.country = parse_country(line_of(rest)).value_or(Country());
  query.text = line_of(rest);
  FuzzedReader reader(rest);
  Normalizer normalizer(KeyRing::plain(), &reader);
  const auto read = normalizer.normalize(query);
  if (!read) return 0;
  const auto again = parse_pre_image(pre_image(*read));
  GEONCE_EXPECTS(again && *again == *read);
  GEONCE_EXPECTS(read->backend.empty() || read->mode != Mode::unparsed);
  const auto keyed = normalizer.key(query);
  GEONCE_EXPECTS(keyed && keyed->key == key_of(*read));
  return 0;
}

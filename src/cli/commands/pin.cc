#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/session.h"
#include "core/place_keys.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string what, country, note, precision = "rooftop";
  double lat_deg = 0, lng_deg = 0;
};

/// What the answer is filed with.
struct Source {
  std::string query_json, pre_image;
  std::optional<Key> building_key;
};

/// Of an address it is known; of a key only where there is an entry that was asked for by it.
Result<Source> source_of(const Named& what, Store& store, const KeyRing& ring) {
  if (!what.query) {
    const auto entry = store.entry(what.slot, patience());
    if (!entry) return fail(entry.error());
    if (!*entry || (*entry)->query_json.empty())
      return fail(ErrorCode::not_found,
                  "nothing is remembered under {}, so it is not known which address it is: name "
                  "the address itself",
                  ring.text(what.slot.key));
    return Source{(*entry)->query_json, (*entry)->pre_image, (*entry)->building_key};
  }
  Source source{to_json(*what.query), what.pre_image, {}};
  if (const auto canonical = parse_pre_image(what.pre_image))
    source.building_key = ring.key(building_pre_image(*canonical));
  return source;
}

Result<Answer> answer_of(const Arguments& arguments, const Named& what) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{arguments.lat_deg, arguments.lng_deg};
  if (!is_valid(*answer.at))
    return fail(ErrorCode::usage, "--lat is within 90 and --lng within 180 degrees");
  const auto precision = parse_precision(arguments.precision);
  if (!precision)
    return fail(ErrorCode::usage,
                "--precision is rooftop, parcel, interpolated, street, postcode, locality, region "
                "or country");
  answer.precision = *precision;
  answer.provider = "pinned";
  answer.reason = arguments.note;
  if (what.query) {
    answer.formatted = what.query->one_line();
    answer.country = what.query->country;
  }
  return answer;
}

int pin(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto what = named(arguments.what, arguments.country, *ring, globals);
  if (!what) return report(what.error());
  const auto answer = answer_of(arguments, *what);
  if (!answer) return report(answer.error());
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  const auto store = open_store(loaded->config, true);
  if (!store) return report(store.error());
  // Else an older answer would be taken over to this key later, and ask which of them is left.
  if (auto done = take_over_former_answers(**store, *ring, missing_of(*what), patience()); !done)
    return report(done.error());
  const auto source = source_of(*what, **store, *ring);
  if (!source) return report(source.error());
  const auto pinned = (*store)->pin(
      what->slot, *answer, source->query_json, source->pre_image, source->building_key, patience());
  if (!pinned) return report(pinned.error());
  fmt::print("{} pinned to {:.7f},{:.7f}\n",
             ring->text(what->slot.key),
             arguments.lat_deg,
             arguments.lng_deg);
  tell_redis(globals, **store);
  return 0;
}

}  // namespace

void add_pin(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("pin", "Correct an answer by hand, for good");
  auto arguments = std::make_shared<Arguments>();
  add_address(*command, arguments->what, arguments->country);
  command->add_option("--lat", arguments->lat_deg, "Latitude in degrees, WGS84")
      ->type_name("DEGREES")
      ->required();
  command->add_option("--lng,--lon", arguments->lng_deg, "Longitude in degrees, WGS84")
      ->type_name("DEGREES")
      ->required();
  command->add_option("--precision", arguments->precision, "How exact the point is")
      ->type_name("WORD")
      ->capture_default_str();
  command->add_option("--note", arguments->note, "Why, for whoever looks at it later")
      ->type_name("TEXT");
  does(*command, program, [&program, arguments] { return pin(program.globals, *arguments); });
}

}  // namespace geonce::cli

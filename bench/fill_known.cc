// Makes the input of bench/batch.py: a CSV of `ROWS` rows over `DISTINCT` US addresses, and a store
// that knows an answer for each.
//   bench_fill_known STORE CSV ROWS DISTINCT      STORE: a file, or postgres://… of an empty
//   database
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/normalize.h"
#include "core/uuid.h"
#include "store/store.h"

namespace {

using namespace geonce;

constexpr const char* kStreets[] = {
    "Maple",    "Oak",     "Cedar",  "Pine",     "Elm",      "Washington", "Lake",    "Hill",
    "Walnut",   "Spring",  "North",  "Ridge",    "Church",   "Willow",     "Mill",    "Sunset",
    "Railroad", "Jackson", "Cherry", "Highland", "Franklin", "Dogwood",    "Juniper", "Larkspur"};
constexpr const char* kTypes[] = {
    "St", "Ave", "Rd", "Ln", "Dr", "Ct", "Blvd", "Way", "Street", "Avenue"};
constexpr const char* kCities[] = {"Boise, ID 83702",
                                   "Salem, OR 97301",
                                   "Utica, NY 13501",
                                   "Dayton, OH 45402",
                                   "Mesa, AZ 85201",
                                   "Troy, NY 12180",
                                   "Erie, PA 16501",
                                   "Reno, NV 89501"};

std::string address(std::uint64_t i) {
  const std::uint64_t number = 1 + i / (24 * 8 * 8);
  return fmt::format("{} {} {} {}, {}",
                     number,
                     "NSEW"[i % 4],
                     kStreets[i / 8 % 24],
                     kTypes[i / 192 % 8],
                     kCities[i % 8]);
}

template <class T>
T must(Result<T> result) {
  if (result) {
    if constexpr (!std::is_void_v<T>)
      return std::move(*result);
    else
      return;
  }
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}

void fill(Store& store, std::uint64_t distinct) {
  const auto chain =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"bench"});
  const OwnerId owner = make_uuid(system_clock());
  Normalizer normalizer;
  std::vector<TakeRequest> takes;
  std::vector<std::shared_ptr<const Answer>> answers;
  const auto flush = [&] {
    const auto taken = must(store.take(takes, Deadline::never()));
    std::vector<CommitRequest> commits;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i].verdict != Taken::Verdict::send) continue;
      CommitRequest& commit = commits.emplace_back();
      commit.slot = takes[i].slot;
      commit.fence = taken[i].fence;
      commit.gen = taken[i].gen;
      commit.call = CallRecord{takes[i].intent, "bench", 200, "", "", Billed::yes, 1, Money{500}};
      commit.answer = answers[i];
      commit.life = {
          std::chrono::hours{24 * 180}, std::chrono::hours{24 * 360}, std::chrono::hours{24 * 720}};
      commit.query_json = takes[i].query_json;
      commit.pre_image = takes[i].pre_image;
      commit.building_key = takes[i].slot.key;  // none of these addresses has a unit
    }
    must(store.commit(commits, Deadline::never()));
    takes.clear();
    answers.clear();
  };
  for (std::uint64_t i = 0; i < distinct; ++i) {
    const std::string text = address(i);
    QueryView query;
    query.text = text;
    query.country = Country('U', 'S');
    const Canonical canonical = must(normalizer.normalize(query));
    TakeRequest& take = takes.emplace_back();
    take.slot.key = key_of(canonical);
    take.intent = make_uuid(system_clock());
    take.owner = owner;
    take.chain = chain;
    take.query_json = to_json(Query::from(query));
    take.pre_image = pre_image(canonical);
    Answer answer;
    answer.kind = AnswerKind::match;
    answer.at = LatLng{static_cast<double>(i % 90'000) / 1'000.0 - 45,
                       static_cast<double>(i % 170'000) / 1'000.0 - 85};
    answer.precision = Precision::rooftop;
    answer.provider = "bench";
    answer.formatted = text;
    answer.country = Country('U', 'S');
    answers.push_back(std::make_shared<const Answer>(std::move(answer)));
    if (takes.size() == 5'000) flush();
  }
  if (!takes.empty()) flush();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "bench_fill_known STORE CSV ROWS DISTINCT\n");
    return 2;
  }
  const auto rows = std::strtoull(argv[3], nullptr, 10);
  const auto distinct = std::strtoull(argv[4], nullptr, 10);
  if (const std::string store = argv[1]; store.starts_with("postgres://")) {
    PostgresOptions options;
    options.uri = store;
    fill(*must(open_postgres_store(options)), distinct);
  } else {
    SqliteOptions options;
    options.path = store;
    fill(*must(open_sqlite_store(options)), distinct);
  }
  std::FILE* csv = std::fopen(argv[2], "w");
  if (csv == nullptr) return 1;
  fmt::print(csv, "id,name,address,note\n");
  // A stride that is prime to any round count: repeats lie far apart.
  for (std::uint64_t i = 0; i < rows; ++i)
    fmt::print(csv, "{},Customer {},\"{}\",x\n", i, i, address(i * 7'368'787 % distinct));
  return std::fclose(csv) == 0 ? 0 : 1;
}

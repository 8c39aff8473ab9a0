#include "contract/store_contract.h"

#include <cstring>

namespace geonce::contract {

Slot slot(std::uint32_t n, Pool pool) {
  Slot slot;
  slot.pool = pool;
  // Spread over the key space as digests are, and the same in every run.
  std::uint64_t state = n + 1;
  for (std::size_t at = 0; at < slot.key.bytes.size(); at += sizeof state) {
    state = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U + 0x9E3779B97F4A7C15U;
    std::memcpy(slot.key.bytes.data() + at, &state, sizeof state);
  }
  return slot;
}

IntentId new_intent() { return make_uuid(system_clock()); }

Answer match(double lat_deg, double lng_deg, std::string provider) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{lat_deg, lng_deg};
  answer.precision = Precision::rooftop;
  answer.provider = std::move(provider);
  answer.formatted = "1 Some Street, Some Town";
  return answer;
}

Answer no_match(std::string provider) {
  Answer answer;
  answer.kind = AnswerKind::no_match;
  answer.provider = std::move(provider);
  return answer;
}

void Store::SetUp() {
  world_ = GetParam().make();
  store_ = open();
}

std::unique_ptr<geonce::Store> Store::open() {
  auto opened = world_->open(&clock_);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    std::abort();
  }
  return std::move(*opened);
}

TakeRequest Store::ask(const Slot& where) {
  static const auto kChain = std::make_shared<const std::vector<std::string>>(1, "alpha");
  TakeRequest request;
  request.slot = where;
  request.intent = new_intent();
  request.owner = owner_;
  request.life = kClaimLife;
  request.chain = kChain;
  request.query_json = R"({"text":"1 some street"})";
  request.pre_image = std::string("pre\0image", 9);
  return request;
}

Taken Store::take(const TakeRequest& request) {
  auto taken = store_->take({&request, 1}, Deadline::never());
  EXPECT_TRUE(taken) << taken.error().message;
  return taken->front();
}

CallRecord Store::call(const TakeRequest& request, Billed billed) const {
  CallRecord call;
  call.intent = request.intent;
  call.provider = request.chain->front();
  call.http_status = 200;
  call.billed = billed;
  call.price = Money{5'000};
  return call;
}

CommitRequest Store::answer_to(const TakeRequest& request,
                               const Taken& taken,
                               const Answer& answer) const {
  CommitRequest commit;
  commit.slot = request.slot;
  commit.fence = taken.fence;
  commit.gen = taken.gen;
  commit.call = call(request);
  commit.answer = std::make_shared<const Answer>(answer);
  commit.life = {kFresh, kStale, kErase};
  commit.query_json = taken.query_json;
  commit.pre_image = request.pre_image;
  return commit;
}

Committed Store::commit(const CommitRequest& request) {
  auto committed = store_->commit({&request, 1}, Deadline::never());
  EXPECT_TRUE(committed) << committed.error().message;
  return committed->front();
}

Advanced Store::advance(const AdvanceRequest& request) {
  auto advanced = store_->advance({&request, 1}, Deadline::never());
  EXPECT_TRUE(advanced) << advanced.error().message;
  return advanced->front();
}

Released Store::release(const ReleaseRequest& request) {
  auto released = store_->release({&request, 1}, Deadline::never());
  EXPECT_TRUE(released) << released.error().message;
  return released->front();
}

ReleaseRequest Store::ending(ReleaseRequest::Kind kind,
                             const TakeRequest& request,
                             const Taken& taken) const {
  ReleaseRequest release;
  release.kind = kind;
  release.slot = request.slot;
  release.fence = taken.fence;
  release.call =
      call(request, kind == ReleaseRequest::Kind::unknown ? Billed::unknown : Billed::no);
  return release;
}

AdvanceRequest Store::next_after(const TakeRequest& request, const Taken& taken) const {
  AdvanceRequest advance;
  advance.slot = request.slot;
  advance.fence = taken.fence;
  advance.gen = taken.gen;
  advance.call = call(request);
  advance.call.provider = (*request.chain)[taken.step];
  advance.step = taken.step;
  advance.next_intent = new_intent();
  advance.life = kClaimLife;
  advance.chain = request.chain;
  return advance;
}

void Store::buy(const Slot& where, const Answer& answer) {
  const auto request = ask(where);
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  ASSERT_TRUE(commit(answer_to(request, taken, answer)).stored);
}

std::optional<Found> Store::find(const Slot& where) {
  auto found = store_->find({&where, 1}, Deadline::never());
  EXPECT_TRUE(found) << found.error().message;
  return found->front();
}

std::vector<LedgerRow> Store::ledger_of(const IntentId& intent) {
  LedgerFilter filter;
  filter.intent = intent;
  filter.newest_first = false;
  auto rows = store_->ledger(filter, Deadline::never());
  EXPECT_TRUE(rows) << rows.error().message;
  return *rows;
}

std::vector<std::string> Store::events_of(const IntentId& intent) {
  std::vector<std::string> events;
  for (const auto& row : ledger_of(intent)) events.emplace_back(to_string(row.event));
  return events;
}

LedgerSum Store::sum(const std::string& provider) {
  auto sums = store_->ledger_sums({}, Deadline::never());
  EXPECT_TRUE(sums) << sums.error().message;
  for (const auto& sum : *sums)
    if (sum.provider == provider) return sum;
  return {};
}

}  // namespace geonce::contract

#include "batch/counts.h"

namespace geonce {

void BatchCounts::add(const BatchCounts& more) {
  rows += more.rows;
  distinct += more.distinct;
  replayed += more.replayed;
  kept += more.kept;
  for (std::size_t i = 0; i < by_status.size(); ++i) by_status.at(i) += more.by_status.at(i);
  for (std::size_t i = 0; i < by_source.size(); ++i) by_source.at(i) += more.by_source.at(i);
  calls += more.calls;
  cost += more.cost;
}

double BatchCounts::hit_share() const {
  std::int64_t answered = replayed;
  for (const auto count : by_source) answered += count;
  return answered == 0
             ? 0
             : 1 - static_cast<double>(of(AnswerSource::paid)) / static_cast<double>(answered);
}

}  // namespace geonce

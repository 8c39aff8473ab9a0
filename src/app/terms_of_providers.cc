#include "app/terms_of_providers.h"

#include <algorithm>

#include "policy/life_policy.h"
#include "providers/spec.h"

namespace geonce {

Result<TermsOfProviders> TermsOfProviders::of(const Config& config) {
  auto specs = load_specs(config.specs);
  if (!specs) return fail(specs.error());
  TermsOfProviders all;
  for (const auto& [name, spec] : *specs) all.terms_[name] = spec.terms;
  for (const auto& [name, provider] : config.providers)
    if (const auto terms = provider.terms()) all.terms_[name] = *terms;
  return all;
}

const Terms* TermsOfProviders::find(const std::string& provider) const {
  const auto found = terms_.find(provider);
  return found == terms_.end() ? nullptr : &found->second;
}

bool TermsOfProviders::apply(const Terms& terms, EntryRow& entry) {
  if (terms.keep == Terms::Keep::nothing) return false;
  auto kept = keep_allowed(*entry.answer, terms);
  if (kept.kind == AnswerKind::match && !kept.at) return false;
  entry.answer = std::make_shared<const Answer>(std::move(kept));
  if (terms.keep == Terms::Keep::limited) {
    const UtcMs end = entry.answered_at + milliseconds{terms.keep_for}.count();
    for (auto* instant : {&entry.fresh_until, &entry.stale_until, &entry.erase_after})
      *instant = std::min(*instant, end);
  }
  return true;
}

}  // namespace geonce

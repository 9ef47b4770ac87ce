// Any stored text is read or reported as unreadable. What is read is written and read again unchanged, and a step from
// it works.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/evict/budget/stored.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto request = policy::evict::decode_resume(text)) {
    TM_CHECK(policy::evict::decode_resume(policy::evict::encode_resume(*request)) == *request,
             "a request is read again");
  }
  if (auto book = policy::evict::decode_counts(text)) {
    TM_CHECK(policy::evict::decode_counts(policy::evict::encode_counts(*book)) == *book, "counts are read again");
    policy::evict::forget_old(*book, book->until);
    policy::evict::count(*book, {"night", "spark", "job", true}, book->until, book->until);
    TM_CHECK(policy::evict::of_day(*book, "night", book->until).evicted >= 1, "what ended now is counted");
  }
  if (const auto state = policy::evict::decode_budgets(text)) {
    TM_CHECK(policy::evict::decode_budgets(policy::evict::encode_budgets(*state)) == *state, "budgets are read again");
    const policy::evict::EvictionBook book;
    const policy::evict::BudgetPool pools[] = {{"night", {}, true}};
    const auto step = policy::evict::step(*state, {pools, book, {}}, state->looked);
    TM_CHECK(step.state.pools.size() == 1, "the step covers every pool of the settings, and no other");
  }
  return 0;
}

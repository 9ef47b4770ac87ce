// How budgets are stored: the data of the ConfigMap `tidemark-budgets`, which other programs may read too.
//
//   state.json      each pool: the breaker, jobs and pools that are not to be evicted for now
//   grants.json     the grant of YARN's operator in each pool's hour (policy/evict/budget/grants.h)
//   counts.json     the counts of a day, and of each pool's last hour by the minute, so that a restart keeps them
//   request-*.json  requests of a person, one per key; written by `tidemark`, removed by the manager once handled
//   request.json    the last request again, for managers that know only this key
//
// Each carries `schema` and the version of the policy that wrote it. A newer schema is kUnsupported, and is never
// overwritten.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/evict/budget/book.h"
#include "policy/evict/budget/budget.h"
#include "policy/evict/budget/grants.h"

namespace tidemark::policy::evict {

inline constexpr std::int64_t kBudgetSchema = 1;
inline constexpr std::int64_t kBudgetPolicyVersion = 1;
inline constexpr std::size_t kBudgetBytesMax = 1 << 20;  // of a text that is read
// An object holds 1 MiB in all, and the state is in the same object as the counts: if a day takes more than this, the
// least evicted jobs are left out and old slots become coarser.
inline constexpr std::size_t kCountsBytesMax = 512 << 10;

inline constexpr std::string_view kBudgetsGrantsKey = "grants.json";
inline constexpr std::string_view kResumeKeys = "request-";
inline constexpr std::size_t kResumeRequestsMax = 64;  // handled together
std::string resume_key(std::string_view id);           // any id gives a valid key of a ConfigMap

std::string encode_budgets(const BudgetState& state);
std::string encode_counts(const EvictionBook& book);
std::string encode_grants(const OperatorGrants& grants);
std::string encode_resume(const ResumeRequest& request);

Result<BudgetState> decode_budgets(std::string_view text);
Result<EvictionBook> decode_counts(std::string_view text);
Result<OperatorGrants> decode_grants(std::string_view text);
Result<ResumeRequest> decode_resume(std::string_view text);

}  // namespace tidemark::policy::evict

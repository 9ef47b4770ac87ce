#include "operate/budgets.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "manager/evictions/budget_store.h"
#include "model/names.h"
#include "model/reason.h"
#include "operate/get.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::operate {
namespace {

using base::cat;

constexpr base::Duration kLookPause = std::chrono::milliseconds(500);  // between two looks while waiting
constexpr base::Duration kLookMin = std::chrono::milliseconds(100);    // for the last of them

net::Task<Result<manager::StoredBudgets>> read(kube::Client& client, std::string ns, base::Duration limit) {
  kube::Interner interner;
  TM_CO_TRY(const auto map, co_await config_map(client, ns, std::string(model::kBudgetsName), limit, interner));
  if (!map) {
    co_return fail(ErrorKind::kNotFound, "there is no ConfigMap ", ns, "/", model::kBudgetsName,
                   ": no manager that goes by a tidemark-config has stored anything yet");
  }
  auto stored = manager::read_budgets(*map);
  if (!stored.state) {
    co_return fail(ErrorKind::kInvalid, "ConfigMap ", ns, "/", model::kBudgetsName, " cannot be read: ",
                   stored.problem.empty() ? cat("it lacks ", model::kBudgetsStateKey) : stored.problem);
  }
  co_return stored;
}

Result<void> known(const policy::evict::BudgetState& state, std::string_view pool) {
  if (state.pool(pool) != nullptr) return {};
  std::vector<std::string> names;
  for (const auto& each : state.pools) names.push_back(each.pool);
  return fail(ErrorKind::kNotFound, "there is no pool ", base::in_quotes(pool),
              "; there are: ", base::join(names, ", "));
}

bool is_taken_up(const manager::StoredBudgets& stored, const std::string& id) {
  const auto& left = stored.requests;
  return stored.state->request == id || std::ranges::find(left, id, &policy::evict::ResumeRequest::id) == left.end();
}

// Until a manager has taken the request up. The server may be away meanwhile.
net::Task<Result<void>> wait_until_taken_up(net::EventLoop& loop, kube::Client& client,
                                            const ResumePoolOptions& options) {
  const auto end = loop.clock().monotonic() + options.wait;
  while (true) {
    const base::Duration left = std::max(end - loop.clock().monotonic(), kLookMin);
    const auto stored = co_await read(client, options.config_namespace, std::min(options.limit, left));
    if (stored && is_taken_up(*stored, options.id)) co_return Result<void>();
    if (!stored && !passes(stored.error())) co_return std::unexpected(stored.error());
    if (loop.clock().monotonic() >= end) {
      co_return fail(ErrorKind::kDeadline, "it was asked for, and no manager has taken it up within ",
                     base::format_go_duration(options.wait), stored ? "" : "; ",
                     stored ? std::string() : stored.error().message);
    }
    co_await loop.sleep(kLookPause);
  }
}

}  // namespace

net::Task<Result<BudgetsReport>> read_budgets(kube::Client& client, BudgetsQuestion question) {
  TM_CO_TRY(auto stored, co_await read(client, question.config_namespace, question.limit));
  if (!question.pool.empty()) {
    TM_CO_TRY_VOID(known(*stored.state, question.pool));
  }
  BudgetsReport out;
  out.state = std::move(*stored.state);
  out.counts = std::move(stored.counts);
  out.grants = stored.grants.value_or(policy::evict::OperatorGrants());
  if (stored.newer) out.notes.emplace_back(manager::kBudgetsNewer);
  if (!stored.problem.empty()) out.notes.push_back(stored.problem);
  co_return out;
}

net::Task<Result<bool>> resume_pool(net::EventLoop& loop, kube::Client& client, ResumePoolOptions options) {
  TM_CO_TRY(auto stored, co_await read(client, options.config_namespace, options.limit));
  TM_CO_TRY_VOID(known(*stored.state, options.pool));
  const auto phase = [&] { return stored.state->pool(options.pool)->breaker.phase; };
  if (phase() != policy::evict::BreakerPhase::kOpen) {
    co_return fail(ErrorKind::kInvalid, "pool ", options.pool, " is not stopped by evictions (its breaker is ",
                   to_string(phase()), "): there is nothing to resume");
  }
  const policy::evict::ResumeRequest request{options.id, options.pool, options.why, loop.clock().wall()};
  // A key of its own, so that the next request does not replace it.
  const Json text(policy::evict::encode_resume(request));
  const Json body = Json::object(
      {{"data", Json::object({{policy::evict::resume_key(options.id), text}, {model::kBudgetsRequestKey, text}})}});
  kube::WriteOptions write;
  write.ns = options.config_namespace;
  write.dry_run = options.dry_run;
  write.note.reason = model::reason_id(model::Reason::kWriteAsked);
  auto answer = co_await client.patch(kube::kConfigMaps, model::kBudgetsName, kube::PatchType::kMerge, body.dump(),
                                      write, options.limit);
  if (!answer) co_return std::unexpected(std::move(answer).error().within("leaving the request"));

  const bool done = !options.dry_run && options.wait > base::Duration(0);
  if (done) TM_CO_TRY_VOID(co_await wait_until_taken_up(loop, client, options));
  co_return done;
}

}  // namespace tidemark::operate

#include "operate/surroundings.h"

#include <utility>

#include "base/text.h"
#include "manager/capacity/pod_projection.h"
#include "manager/capacity/waiting_pods.h"
#include "manager/state/mark_write.h"
#include "operate/list_pages.h"
#include "policy/sell/motion.h"
#include "policy/waterline/profile/usage_profile.h"

namespace tidemark::operate {
namespace {

// The longest that growth has been waiting for when a manager looks again: it gives for two minutes at most.
constexpr base::Duration kSinceLastStep = std::chrono::minutes(2);
// As in policy/sell: how long a report counts as fresh where the pool says nothing else.
constexpr base::Duration kFreshFor = model::MotionConfig().hold;

}  // namespace

manager::ExpectedUse Surroundings::expected(base::WallTime now) const {
  return [this, now](std::string_view workload) -> std::optional<model::Resources> {
    const auto* profile = profiles ? profiles->book.find(workload) : nullptr;
    const auto usage = profile == nullptr ? std::nullopt : policy::waterline::usage_now(*profile, now);
    return usage ? std::optional(usage->p95) : std::nullopt;
  };
}

SurroundingsWanted wanted_by(const policy::waterline::TidemarkConfig& config, const model::Pool& pool) {
  return {pool.profile == model::Profile::kTidemark && config.profiles.learn, pool.ledger != model::LedgerConfig()};
}

SurroundingsWanted wanted_by(const policy::waterline::TidemarkConfig& config) {
  SurroundingsWanted all = wanted_by(config, config.rest);
  for (const auto& pool : config.pools) {
    const auto one = wanted_by(config, pool);
    all = {all.profiles || one.profiles, all.waiting || one.waiting};
  }
  return all;
}

net::Task<Surroundings> read_surroundings(net::EventLoop& loop, kube::Client& client, std::string config_namespace,
                                          base::Duration limit, SurroundingsWanted wanted,
                                          std::vector<model::WorkClass> classes) {
  Surroundings out;
  if (wanted.profiles) {
    auto read = co_await manager::read_profiles(client, config_namespace, "", loop.clock().wall(), limit);
    if (read) {
      out.profiles = std::move(*read);
    } else {
      out.notes.push_back(base::cat("profiles of workloads could not be read, so young pods are shown by request: ",
                                    read.error().message));
    }
  }
  if (!wanted.waiting) co_return out;
  kube::Interner interner;
  std::optional<policy::sell::WaitingWork> work;
  kube::ListOptions list;
  list.field_selector = manager::kWaitingPods;
  const auto done = co_await list_pages(
      loop, client, kube::kPods, std::move(list), limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto pod, manager::decode_pod_projection(item, interner));
        const auto own = manager::waits_as(pod, classes);
        if (!own) return {};
        ++out.waiting_pods;
        if (!work) work.emplace();
        work->add(*own, pod.work_class.view(), pod.batch_request);
        return {};
      },
      [&] {
        out.waiting_pods = 0;
        work.reset();
      });
  if (!done) {
    out.notes.push_back(
        base::cat("pods that wait could not be listed, so the ledger is as if none did: ", done.error().message));
    out.waiting_pods = 0;
    co_return out;
  }
  const base::MonotonicTime now = loop.clock().monotonic();
  out.waiting =
      policy::sell::wait(policy::sell::wait({}, work, now + -policy::sell::kWaitsAfter).state, work, now).state;
  co_return out;
}

policy::sell::OfferState as_a_manager_remembers(const kube::Node& node, const kube::NodeMetric* metric,
                                                const base::Clock& clock) {
  policy::sell::OfferState state;
  const auto carried = manager::carried_by(node).origin;
  if (!carried || metric == nullptr || !metric->updated || clock.wall() - *metric->updated > kFreshFor) return state;
  state.motion.offered = *carried;
  state.motion.changed_at = clock.monotonic() + -kSinceLastStep;
  state.motion.stamp = metric->updated;
  state.motion.stamp_at = clock.monotonic();
  state.motion.stamp_moved = true;
  return state;
}

manager::Revision without_slew(manager::Revision revision) {
  constexpr std::int64_t kWholeNodesPermille = 100'000;
  revision.tidemark.rest.motion.slew_permille_per_minute = kWholeNodesPermille;
  for (auto& pool : revision.tidemark.pools) pool.motion.slew_permille_per_minute = kWholeNodesPermille;
  return revision;
}

}  // namespace tidemark::operate

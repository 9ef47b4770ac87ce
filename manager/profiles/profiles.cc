#include "manager/profiles/profiles.h"

#include <algorithm>

#include "base/hash.h"
#include "manager/capacity/overcommit_controller.h"

namespace tidemark::manager {
namespace {

constexpr base::Duration kSweepEvery = std::chrono::minutes(30);
constexpr std::size_t kSweepTurn = 128;  // workloads looked at between two breaths of the loop
constexpr base::Duration kBreath = std::chrono::milliseconds(1);

}  // namespace

bool is_sampled(const kube::NodeMetric* before, const kube::NodeMetric& after, base::Duration every) {
  if (!after.updated) return false;
  if (before == nullptr || !before->updated) return true;
  const std::int64_t length = std::max<std::int64_t>(every.count(), 1);
  const auto phase =
      static_cast<std::int64_t>(base::TextHash().add(after.meta.name).value() % static_cast<std::uint64_t>(length));
  const auto interval = [&](base::WallTime when) {
    std::int64_t shifted = 0;
    if (__builtin_add_overflow(when.since_epoch.count(), phase, &shifted)) return when.since_epoch.count() / length;
    return shifted / length - (shifted % length < 0 ? 1 : 0);
  };
  return interval(*before->updated) != interval(*after.updated);
}

Profiles::Profiles(ProfilesContext context, const base::Log& log)
    : context_(std::move(context)),
      samples_(
          context_.metrics.counter("tidemark_profile_samples_total", "Samples of pods' use that went into profiles.")),
      workloads_(context_.metrics.gauge("tidemark_profile_workloads", "Workloads that have a profile.")),
      turned_away_(context_.metrics.gauge("tidemark_profile_samples_turned_away",
                                          "Samples of workloads for whose profile there was no room.")),
      store_({context_.loop, context_.client, context_.client, context_.recorder, context_.metrics, context_.leadership,
              context_.config_namespace, context_.write_limit},
             {std::string(kProfileKind), kProfileVersion, kHistoryShardsMax}, owner(), log),
      scope_(context_.loop) {}

HistoryOwner Profiles::owner() {
  return {[this] { return learns(); }, [this] { return context_.settings().store_every; },
          [this](const StoredRecord& stored) { return book_.take(stored, context_.loop.clock().wall()); },
          [this] { return book_.names(); },
          [this](const std::string& workload) { return book_.record(workload, context_.loop.clock().wall()); }};
}

void Profiles::start() {
  store_.start();
  scope_.spawn(sweep());
}

void Profiles::metric_changed(const kube::NodeMetric* before, const kube::NodeMetric* after) {
  if (after == nullptr || !learns() || !is_sampled(before, *after, context_.settings().sample_every)) return;
  on_node_.clear();
  for (const PodProjection* pod : context_.pods.by_index(kPodsByNode, after->meta.name)) {
    if (!pod->workload.empty() && pod->phase == model::PodPhase::kRunning)
      on_node_.emplace_back(pod->id, &pod->workload);
  }
  std::sort(on_node_.begin(), on_node_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const base::WallTime now = context_.loop.clock().wall();
  bool keep = false;
  std::uint64_t samples = 0;
  for (const model::PodUsage& usage : after->pods) {
    const auto at = std::lower_bound(on_node_.begin(), on_node_.end(), usage.id,
                                     [](const auto& each, const model::PodId& id) { return each.first < id; });
    if (at == on_node_.end() || at->first != usage.id) continue;
    if (usage.usage.cpu < model::CpuMilli{} || usage.usage.memory < model::MemoryBytes{}) continue;  // no measurement
    keep |= book_.add(at->second->view(), usage.usage, now);
    ++samples;
  }
  samples_.add(samples);
  if (keep) store_.changed();
  workloads_.set(static_cast<double>(book_.size()));
  turned_away_.set(static_cast<double>(book_.turned_away()));
}

std::optional<model::Resources> Profiles::expected(std::string_view workload) const {
  if (!learns()) return std::nullopt;
  const policy::waterline::UsageProfile* profile = book_.find(workload);
  if (profile == nullptr) return std::nullopt;
  const auto usage = policy::waterline::usage_now(*profile, context_.loop.clock().wall());
  if (!usage) return std::nullopt;
  return usage->p95;
}

net::Task<void> Profiles::sweep() {
  while (true) {
    co_await context_.loop.sleep(kSweepEvery);
    ProfileBook::Sweep sweep;
    while (!sweep.done) {
      book_.sweep(sweep, kSweepTurn, context_.loop.clock().wall());
      co_await context_.loop.sleep(kBreath);
    }
    if (sweep.forgot) store_.changed();
  }
}

}  // namespace tidemark::manager

#include "yarn_copilot/troubles.h"

#include <set>
#include <utility>

#include "hadoop/node_manager.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::string_view kLocalizationFailed = "LOCALIZATION_FAILED";
constexpr std::int64_t kStuckUse_ns =
    std::chrono::duration_cast<std::chrono::nanoseconds>(kStuckAfter).count() / 1000 * kStuckUse_permille;

// Counters go back where a container begins anew under its name.
bool worked(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& now) {
  return !before || !now || *now < *before || *now - *before >= kStuckUse_ns;
}

void take(TroubleState::Known& known, const Sighting& each, base::MonotonicTime now) {
  known.started = known.started || each.started;
  if (!each.work_class.empty()) known.work_class = each.work_class;  // the ResourceManager tells it a bit later
  if (worked(known.cpu_ns, each.cpu_ns)) {
    known.cpu_ns = each.cpu_ns;
    known.worked = now;
  }
}

}  // namespace

std::string_view to_string(Trouble trouble) {
  return trouble == Trouble::kLocalizationFailed ? "localization_failed" : "never_started";
}

TroubleStep look_for_troubles(const TroubleState& state, const std::vector<Sighting>& seen, base::MonotonicTime now) {
  TroubleStep step{state, {}};
  step.state.looked = true;
  auto& all = step.state.containers;
  const auto tell = [&](const std::string& id, TroubleState::Known& known, Trouble trouble) {
    if (!std::exchange(known.told, true)) step.report.found.push_back({trouble, id, known.work_class});
  };
  std::set<std::string_view> there;
  for (const Sighting& each : seen) {
    there.insert(each.id);
    const bool ended = hadoop::has_ended(each.state);
    auto known = all.find(each.id);
    // One that had ended before we looked first: nobody knows what it did.
    if (known == all.end() && ended && !state.looked) continue;
    if (known == all.end())
      known = all.emplace(each.id, TroubleState::Known{.work_class = {}, .cpu_ns = each.cpu_ns, .worked = now}).first;
    take(known->second, each, now);
    if (each.state == kLocalizationFailed) {
      tell(each.id, known->second, Trouble::kLocalizationFailed);
    } else if (ended && !known->second.started && state.containers.contains(each.id)) {
      tell(each.id, known->second, Trouble::kNeverStarted);
    }
    if (ended || each.master || !known->second.started || !each.cpu_ns) continue;
    step.report.stuck[known->second.work_class] += now - known->second.worked >= kStuckAfter ? 1 : 0;
  }
  // One that went between two looks may have run.
  std::erase_if(all, [&](const auto& each) { return !there.contains(each.first); });
  return step;
}

}  // namespace tidemark::yarn_copilot

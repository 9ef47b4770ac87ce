#include "yarn_copilot/troubles.h"

#include <set>
#include <utility>

#include "hadoop/node_manager.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::int64_t kStuckUse_ns =
    std::chrono::duration_cast<std::chrono::nanoseconds>(kStuckAfter).count() / 1000 * kStuckUse_permille;

// LOCALIZATION_FAILED lasts only an instant: the NodeManager removes the fetched files and is then DONE. A container
// that was ended by a request has the exit code of that, and one that ran has its own.
bool localization_failed(const Sighting& each) {
  return each.state == "LOCALIZATION_FAILED" || (each.state == "DONE" && each.exit_code == hadoop::kNoExitCode);
}

// Counters go back if a container restarts under its name.
bool worked(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& now) {
  return !before || !now || *now < *before || *now - *before >= kStuckUse_ns;
}

template <class Known>
void forget_who_went(std::map<std::string, Known>& all, const std::vector<Sighting>& seen) {
  std::set<std::string_view> there;
  for (const Sighting& each : seen) there.insert(each.id);
  std::erase_if(all, [&](const auto& each) { return !there.contains(each.first); });
}

void take(StuckState::Known& known, const Sighting& each, base::MonotonicTime now) {
  if (!each.work_class.empty()) known.work_class = each.work_class;  // the ResourceManager reports it a bit later
  const bool begins = each.started && !std::exchange(known.started, known.started || each.started);
  if (!begins && (!known.started || !worked(known.cpu_ns, each.cpu_ns))) return;
  known.cpu_ns = each.cpu_ns;
  known.worked = now;
}

}  // namespace

std::string_view to_string(Trouble trouble) {
  return trouble == Trouble::kLocalizationFailed ? "localization_failed" : "never_started";
}

EndStep look_for_bad_ends(const EndState& state, const std::vector<Sighting>& seen, base::MonotonicTime now) {
  EndStep step{state, {}};
  step.state.looked = true;
  auto& all = step.state.containers;
  const auto tell = [&](const std::string& id, EndState::Known& known, Trouble trouble) {
    if (!std::exchange(known.told, true)) step.found.push_back({trouble, id});
  };
  for (const Sighting& each : seen) {
    const bool ended = hadoop::has_ended(each.state);
    // It had ended before our first pass: what it did is unknown, and a previous copilot may have reported it.
    if (ended && !state.looked) continue;
    const auto [at, fresh] = all.try_emplace(each.id);
    EndState::Known& known = at->second;
    const bool failed = localization_failed(each);
    known.seen = now;
    // One that started and ended between two passes may have run.
    known.started |= each.started || (ended && fresh && !failed);
    if (known.started || !ended) continue;
    tell(each.id, known, failed ? Trouble::kLocalizationFailed : Trouble::kNeverStarted);
  }
  for (auto& [id, known] : all) {
    const base::Duration unseen = now - known.seen;
    if (unseen > base::Duration(0) && unseen <= kGoneUnseenMax && !known.started && !known.told) {
      tell(id, known, Trouble::kNeverStarted);
    }
  }
  forget_who_went(all, seen);
  return step;
}

StuckStep look_for_stuck(const StuckState& state, const std::vector<Sighting>& seen, base::MonotonicTime now) {
  StuckStep step{state, {}};
  auto& all = step.state.containers;
  for (const Sighting& each : seen) {
    if (hadoop::has_ended(each.state)) continue;
    StuckState::Known& known =
        all.try_emplace(each.id, StuckState::Known{.work_class = {}, .cpu_ns = each.cpu_ns, .worked = now})
            .first->second;
    take(known, each, now);
    if (known.started && (each.master || !each.cpu_ns)) continue;
    step.stuck[known.work_class] += now - known.worked >= kStuckAfter ? 1 : 0;
  }
  forget_who_went(all, seen);
  return step;
}

}  // namespace tidemark::yarn_copilot

// What becomes of one pod's containers on a node that runs them itself: which begins, which is asked to end, which is
// killed, and how the pod stands. As a kubelet does, where users see it:
//
//   init containers     one after the other, each until it succeeds; a sidecar (an init container that runs on) until
//   it
//                       has started
//   restarts            by the pod's policy; 10 s after the first end, twice as long after each further one, five
//                       minutes at most, from the beginning again after ten minutes of running
//   an end of the pod   all at once: asked, and after the grace killed; sidecars after the others, the last one first
//   not made            where no process came of a begin at all (no room on the disk, no group), which says nothing of
//                       the container: tried again every 10 s, whatever the policy
//   phase               Pending until one has begun, Running until none will run again, then Succeeded or Failed
//
// Total, and without memory: what is known of the containers' processes comes in each time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"

namespace tidemark::policy {

inline constexpr base::Duration kRestartPause = std::chrono::seconds(10);
inline constexpr base::Duration kRestartPauseMax = std::chrono::minutes(5);
inline constexpr base::Duration kRestartForgiven = std::chrono::minutes(10);  // of running
inline constexpr base::Duration kMakePause = std::chrono::seconds(10);
inline constexpr std::int32_t kKilledExitCode = 137;

enum class RestartPolicy : std::uint8_t { kAlways, kOnFailure, kNever };

enum class LifeRole : std::uint8_t { kInit, kSidecar, kMain };

struct LifeContainer {
  std::string name;
  LifeRole role = LifeRole::kMain;
  bool has_startup_probe = false;
  bool has_readiness_probe = false;
};

enum class RunState : std::uint8_t { kNone, kRunning, kEnded };

// What is known of a container's newest process.
struct ContainerRun {
  RunState state = RunState::kNone;
  std::int32_t starts = 0;  // so often it was begun
  base::MonotonicTime began, ended;
  std::int32_t exit_code = 0;
  std::string cannot_begin;     // it could not be begun: why; it counts as ended
  std::int32_t quick_ends = 0;  // ends in a row, each before kRestartForgiven
  bool startup_passed = false;
  bool readiness_passed = false;
  bool unwell = false;  // its liveness or startup probe gave it up
  std::optional<base::MonotonicTime> asked_to_end;
  std::optional<base::MonotonicTime> not_made;  // when the newest try to begin it came to nothing
};

struct PodLifeInputs {
  RestartPolicy policy = RestartPolicy::kAlways;
  std::span<const LifeContainer> containers;  // init containers first, in their order
  std::span<const ContainerRun> runs;         // one for each
  bool ends = false;                          // deleted, evicted, past its deadline
  std::string_view why_ends;                  // "" for a deletion; the reason of a pod that fails by it
  base::Duration grace = std::chrono::seconds(30);
};

struct LifeAct {
  enum class What : std::uint8_t { kBegin, kAsk, kKill };
  What what = What::kBegin;
  std::size_t container = 0;
  bool operator==(const LifeAct&) const = default;
};

struct ContainerShown {
  RunState state = RunState::kNone;
  std::string_view
      waits_for;  // "PodInitializing", "CrashLoopBackOff", "RunContainerError", "CreateContainerError"; "": for nothing
  bool started = false;
  bool ready = false;
  bool operator==(const ContainerShown&) const = default;
};

struct PodLifeStep {
  std::vector<LifeAct> acts;
  std::vector<ContainerShown> containers;
  model::PodPhase phase = model::PodPhase::kPending;
  bool initialized = false;
  bool ready = false;                         // all of its containers are
  bool over = false;                          // nothing of it runs, and nothing will
  std::optional<base::Duration> again_after;  // time alone changes something
};

PodLifeStep pod_life(const PodLifeInputs& inputs, base::MonotonicTime now);

// After so many quick ends in a row.
base::Duration restart_pause(std::int32_t quick_ends);

}  // namespace tidemark::policy

// Decides for one pod's containers on a node without a kubelet: which start, which are stopped, which are killed, and
// the pod's status. Users see the behavior of a kubelet:
//
//    init containers     one after the other, each until it succeeds; a sidecar (an init container that runs on) until
//                        it has started
//    restarts            by the pod's policy; 10 s after the first end, twice as long after each further one, five
//                        minutes at most, from the beginning again after ten minutes of running
//    end of the pod      all at once: stopped, and killed after the grace; sidecars after the others, the last one
//    first not created         if a start gave no process (no room on the disk, no cgroup), which is no fault of the
//                        container: tried again every 10 s under any policy
//    phase               Pending until one has started, Running until none will run again, then Succeeded or Failed
//
// Total, and without memory: the state of the containers' processes is an input each time.
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

namespace tidemark::policy::single_node {

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

// The state of a container's newest process.
struct ContainerRun {
  RunState state = RunState::kNone;
  std::int32_t starts = 0;  // so often it was begun
  base::MonotonicTime began, ended;
  std::int32_t exit_code = 0;
  std::string cannot_begin;     // why it could not start; it counts as ended
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

// After this many quick ends in a row.
base::Duration restart_pause(std::int32_t quick_ends);

}  // namespace tidemark::policy::single_node

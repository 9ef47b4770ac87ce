// The unit that a node accounts, limits and evicts: a pod, a container that a copilot lists (YARN's), a host
// application. Whether it is online or offline is one of its properties.
//
// A bounded projection: only what decisions of the node read. Shared and immutable; the heap memory of a task stays
// below kTaskBytesMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"
#include "model/qos.h"
#include "model/resources.h"

namespace tidemark::model {

inline constexpr std::size_t kTaskContainersMax = 128;         // with init containers and those not listed yet
inline constexpr std::size_t kTaskNameBytesMax = 512;          // of a name, an id, a word of a label
inline constexpr std::size_t kTaskPathBytesMax = 4096;         // of a group, from the root of its hierarchy
inline constexpr std::size_t kTaskSettingBytesMax = 4 * 1024;  // of one annotation that is kept as it came
inline constexpr std::size_t kTaskFeaturesMax = 32;            // of an eviction policy
inline constexpr std::size_t kTaskCpusetBytesMax = 4096;       // a list of processors
inline constexpr std::size_t kTaskBytesMax = 1024 * 1024;

enum class TaskKind : std::uint8_t { kPod, kCopilotTask, kHostApplication };
std::string_view to_string(TaskKind);
enum class TaskProviderKind : std::uint8_t { kKubelet, kApiServer, kCopilot, kHostApplications };
std::string_view to_string(TaskProviderKind);

// The same in every journal line, ledger and kill reason. Unknown fields are empty.
struct TaskIdentity {
  std::string source;      // "kubernetes", or the name of the copilot ("yarn")
  std::string cluster;     // of that source
  std::string job;         // a pod's label, else its owner "NAMESPACE/KIND/NAME"; YARN: the application
  std::string attempt;     // YARN: the application attempt
  std::string task;        // the pod's uid; YARN: the container; a host application's name
  std::string user;        // the user that started it
  std::string business;    // its owner
  std::string work_class;  // timeliness class of offline work
  bool operator==(const TaskIdentity&) const = default;
};

// Amounts of a specification; nullopt: not set, which means no limit and not 0.
struct SaidAmounts {
  std::optional<CpuMilli> cpu{};
  std::optional<MemoryBytes> memory{};
  bool none() const { return !cpu && !memory; }
  bool operator==(const SaidAmounts&) const = default;
};

// By resource kind: native, batch or mid.
struct TaskAmounts {
  SaidAmounts native;
  SaidAmounts batch;
  SaidAmounts mid;
  bool operator==(const TaskAmounts&) const = default;
};

// An annotation or label for a later decision, unparsed.
enum class TaskSetting : std::uint8_t {
  kCpuBurst,
  kCpuQos,
  kMemoryQos,
  kBlkioQos,
  kNetworkQos,
  kOomScoreAdj,
  kOomScoreAdjSpec,
  kResctrl,
  kCoreSchedGroup,  // an empty text is a group as well
  kCoreSchedPolicy,
};

enum class ContainerRole : std::uint8_t {
  kMain,
  kInit,       // runs before the others and ends
  kSidecar,    // an init container that runs on
  kEphemeral,  // put in by hand, for debugging
  kUnlisted,   // a cgroup of the task that no status lists: the pod's pause container, or one created a moment ago
};
enum class ContainerState : std::uint8_t { kUnknown, kWaiting, kRunning, kTerminated };

struct TaskContainer {
  std::string name;     // empty: not listed
  std::string runtime;  // "containerd"
  std::string id;       // without the runtime; empty: never created
  std::string path;     // its cgroup; empty: none now
  ContainerRole role = ContainerRole::kMain;
  ContainerState state = ContainerState::kUnknown;
  TaskAmounts requests;
  TaskAmounts limits;
  bool operator==(const TaskContainer&) const = default;
};

struct Task {
  TaskKind kind = TaskKind::kPod;
  TaskProviderKind provider = TaskProviderKind::kKubelet;
  Qos qos_raw = Qos::kNone;
  Qos qos = Qos::kNone;  // with default
  KubeQos kube_qos = KubeQos::kBestEffort;
  PriorityClass priority_raw = PriorityClass::kNone;
  PriorityClass priority = PriorityClass::kNone;  // with default
  PodPhase phase = PodPhase::kUnknown;
  bool host_network = false;
  bool fixed = false;             // the kubelet's own (a static pod): the API server cannot evict it
  bool eviction_enabled = false;  // for what needs the label
  bool infrastructure = false;    // other tasks of the node depend on it
  // A host application that Koordinator counts as offline: BE, and below the kubelet's cgroup of such pods.
  bool below_besteffort = false;
  std::int32_t priority_value = 0;              // with default
  std::int32_t eviction_priority = 0;           // lower goes first
  std::optional<std::int32_t> priority_number;  // spec.priority
  std::optional<std::int32_t> sub_priority;     // nullopt: none, or unreadable

  TaskIdentity identity;
  std::string ns;  // a pod's namespace; a copilot's name
  std::string name;
  std::string workload;  // "NAMESPACE/KIND/NAME" of a pod (policy/waterline/profile/workload.h); empty: none
  std::string path;      // its cgroup, from the root of each hierarchy; empty: none now

  // Of the whole task: requests as the scheduler reserves them; a limit only if every container has one. Overhead is in
  // the native amounts.
  TaskAmounts requests;
  TaskAmounts limits;
  std::vector<TaskContainer> containers;

  std::optional<base::WallTime> created;
  std::optional<base::WallTime> started;
  std::optional<base::WallTime> deleted;  // set while it is being deleted

  std::optional<std::int32_t> progress_percent;               // its progress; nullopt: unknown
  std::optional<std::int64_t> held_bytes;                     // bytes that others need and that would be lost with it
  std::optional<std::vector<std::string>> eviction_features;  // those that may evict it; nullopt: all
  std::string cpuset;                                         // the scheduler's placement; empty: none
  std::vector<std::int32_t> numa_nodes;                       // the same as NUMA nodes, each once
  struct Setting {
    TaskSetting what;
    std::string text;
    bool operator==(const Setting&) const = default;
  };
  std::vector<Setting> settings;

  const std::string* setting(TaskSetting what) const;  // null: not set
  bool terminal() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  // True if `koordinator.sh/eviction-policy` permits that this feature of the agent evicts it.
  bool may_be_evicted_by(std::string_view feature) const;
  std::size_t bytes() const;  // including heap memory

  bool operator==(const Task&) const = default;
};

}  // namespace tidemark::model

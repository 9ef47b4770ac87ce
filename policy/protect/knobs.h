// Turns the intents of strategies into writes for the kernel of this node.
//
//   CPU priority, by the ladder, the first that works:
//     cpu.bvt_warp_ns      (Anolis)     the value as it is
//     cpu.qos_level        (openEuler)  -1 offline, 0 all else
//     cpu.idle             (mainline)   1 offline, 0 all else
//     the weight alone     offline gets the least; no other weight is changed
//
// The weight of an idle cgroup cannot be set: the kernel refuses it (EINVAL), and at cpu.idle 0 the weight is the one
// of a new cgroup (1024, in v2 100), not the one before. So a weight is never written beside cpu.idle 1, and one that
// is still wanted is written again after cpu.idle 0; write_levelled() writes the files of a cgroup in reverse order,
// which gives this order.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

// A file of a cgroup, under its v1 name if it has one.
enum class Knob : std::uint8_t {
  kCpuShares,
  kCpuQuota,
  kCpuIdle,
  kCpuBvt,
  kCpuQosLevel,
  kCpusetCpus,
  kMemoryLimit,
  kMemoryMin,
  kMemoryLow,
};
inline constexpr std::size_t kKnobs = 9;
std::string_view to_string(Knob);  // "cpu.shares" …

// What the kernel of this node supports, by a trial on our own cgroup.
struct Capabilities {
  std::bitset<kKnobs> effective;
  // v1: a child's cpuset must be within its parent's, and its quota no larger than the parent's.
  bool nested_cpuset = true;
  bool nested_quota = true;
  bool has(Knob knob) const { return effective.test(static_cast<std::size_t>(knob)); }
};

struct KnobWrite {
  std::string group;
  Knob knob = Knob::kCpuQuota;
  std::int64_t value = 0;          // in the unit of the intent
  std::vector<std::int32_t> cpus;  // of kCpusetCpus
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  model::Reason reason = model::Reason::kSuppressUnderLine;
  bool operator==(const KnobWrite&) const = default;
};

// An intent that this kernel cannot carry out (kKnobMissing), that another strategy outranks, also by making the cgroup
// idle (kKnobOutranked), or that no kernel accepts: an empty cpuset, a negative amount (kKnobRefused).
struct Unmet {
  std::size_t intent = 0;  // index in the given list
  model::Reason reason = model::Reason::kKnobMissing;
  bool operator==(const Unmet&) const = default;
};

struct Compiled {
  std::vector<KnobWrite> writes;  // at most one for each file of a cgroup; by cgroup, then knob
  std::vector<Unmet> unmet;
};

// Total. Quotas and shares are clamped to the kernel's range (contract 7.2: from 1000, and 2 … 262144). Of two intents
// for one file of a cgroup the first strategy in model::kStrategies wins, whatever the order of the list.
// linux::write_levelled() decides the order of writes.
Compiled compile(std::span<const Intent> intents, const Capabilities& capabilities);

// The knob of the ladder in use. nullopt: only the weight.
std::optional<Knob> priority_knob(const Capabilities& capabilities);

}  // namespace tidemark::policy::protect

// From what strategies want to what is written, for the kernel that is there.
//
//   CPU priority, by the ladder, the first that works:
//     cpu.bvt_warp_ns      (Anolis)     the value as it is
//     cpu.qos_level        (openEuler)  -1 offline, 0 all else
//     cpu.idle             (mainline)   1 offline, 0 all else
//     the weight alone     offline gets the least; nobody else's is touched
//
//   A group that is idle has no weight to set: the kernel refuses it (EINVAL), and at cpu.idle 0 the weight is the one
//   of a new group (1024, of v2 100), not the one before. So a weight is never put out beside cpu.idle 1, and one that
//   is still wanted is written again after cpu.idle 0; write_levelled() takes the files of a group last first, which is
//   that order.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/knobs/intent.h"

namespace tidemark::policy {

// A file of a group, under its name of v1 where that has one.
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

// What the kernel of this node takes, by what a trial on a group of our own showed.
struct Capabilities {
  std::bitset<kKnobs> effective;
  // A child's processors are a part of its parent's, and its quota no larger than the one above it: of v1.
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

// An intent that this kernel cannot carry out (kKnobMissing), that another strategy's outranks, be it by making the
// group idle (kKnobOutranked), or that no kernel takes: an empty set of processors, an amount below nothing
// (kKnobRefused).
struct Unmet {
  std::size_t intent = 0;  // in the list given
  model::Reason reason = model::Reason::kKnobMissing;
  bool operator==(const Unmet&) const = default;
};

struct Compiled {
  std::vector<KnobWrite> writes;  // one at most for each file of a group; by group, then knob
  std::vector<Unmet> unmet;
};

// Total. Quotas and shares are brought to the nearest that a kernel takes (contract 7.2: from 1000, and 2 … 262144). Of
// two for one file of a group the strategy has it that stands first in model::kStrategies, however the list is ordered.
// The order of writing, where it matters, is that of linux::write_levelled().
Compiled compile(std::span<const Intent> intents, const Capabilities& capabilities);

// The rung of the ladder that holds here. nullopt: only the weight.
std::optional<Knob> priority_knob(const Capabilities& capabilities);

}  // namespace tidemark::policy

// Live signals of both sides, as inputs of a decision: idle batch capacity and quota at Kubernetes, and the queue at
// YARN.
//
//   room of a run = Σ nodes of its business and nodes without an owner:  idle
//                 + Σ nodes of each other business:  max(0, idle − the share that its owner keeps − claims of the
//                 owner) − claims of its own business − Σ claims of each other business that its own nodes have no idle
//                 capacity for
//
// A claim is what a run will request that is not yet requested by pods. So two runs never count on the same capacity. A
// signal that is unknown decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/resources.h"

namespace tidemark::policy::route {

// What the driver and the executors of a run request when the job begins.
struct RunNeed {
  model::Resources batch;
  std::int64_t pods = 0;
  bool operator==(const RunNeed&) const = default;
};

// Of the nodes of one business; "": of nodes without an owner.
struct OwnedCapacity {
  std::string owner;
  model::Resources total;  // allocatable
  model::Resources idle;   // allocatable − requests of the pods on the nodes
  bool operator==(const OwnedCapacity&) const = default;
};
struct CapacityClaim {
  std::string business;
  model::Resources batch;
  bool operator==(const CapacityClaim&) const = default;
};
struct BatchCapacity {
  std::vector<OwnedCapacity> nodes;
  std::vector<CapacityClaim> claims;  // of pods without a node, and of runs that go first; one for each business
  bool operator==(const BatchCapacity&) const = default;
};

enum class CapacityFit : std::uint8_t {
  kFits,
  kFull,      // too little is idle
  kForOwner,  // enough is idle, but it is for the business that owns the nodes
};
model::Resources room_of(std::string_view business, const BatchCapacity& capacity, std::int64_t owner_keeps_percent);
CapacityFit fit(const RunNeed& need, std::string_view business, const BatchCapacity& capacity,
                std::int64_t owner_keeps_percent);

// Whether run `a` gets capacity before run `b`: a run whose business owns nodes does, then the older one.
struct RunInLine {
  std::string_view business;
  std::int64_t id = 0;
};
bool goes_first(const RunInLine& a, const RunInLine& b, std::span<const OwnedCapacity> nodes);

// What the ResourceQuotas of a namespace leave; nullopt: they do not limit it.
struct QuotaRoom {
  std::optional<model::CpuMilli> batch_cpu;
  std::optional<model::MemoryBytes> batch_memory;
  std::optional<std::int64_t> pods;
  bool operator==(const QuotaRoom&) const = default;
};
bool fits(const RunNeed& need, const QuotaRoom& room);

// The queue of a run at YARN.
struct YarnQueue {
  std::string path;
  std::int64_t pending = 0;                   // applications that are not active
  std::int64_t pending_containers = 0;        // of active ones; perhaps a master
  std::int64_t used_percent = 0;              // of its largest capacity, or of the cluster if that is fuller
  std::int64_t waits = 0;                     // recent runs whose wait in this queue is known
  std::optional<std::int64_t> p95_bound_s{};  // of these waits; nullopt: too few
  bool operator==(const YarnQueue&) const = default;
};
// A queue with free capacity in which nothing is pending has no wait. nullopt: unknown.
std::optional<base::Duration> expected_wait(const YarnQueue& queue);

// A value that the 95th percentile does not exceed, with 95 % confidence: an order statistic, by the binomial
// distribution, for waits of any distribution. nullopt for fewer than 59 waits.
std::optional<std::int64_t> p95_bound(std::span<const std::int64_t> waits);

struct RouteSignals {
  std::int64_t kubernetes_waiting = 0;  // runs that are submitted to Kubernetes and have no node yet
  bool no_more_kubernetes = false;      // the switch
  RunNeed need;
  std::optional<BatchCapacity> capacity{};  // nullopt: unknown
  std::optional<QuotaRoom> quota{};         // nullopt: unknown
  std::optional<YarnQueue> queue{};         // nullopt: unknown
  base::Duration waited{0};                 // of the run, for a side
  bool operator==(const RouteSignals&) const = default;
};

}  // namespace tidemark::policy::route

// Parses annotations into the model, and formats those that the manager owns. Unreadable text is an error here;
// NodeSnapshot and the policy decide what that means (nothing reserved, nothing subtracted).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/node.h"
#include "model/resources.h"
#include "model/topology.h"

namespace tidemark::model {

// `node.koordinator.sh/reservation`:
// {"resources":{"cpu":"2","memory":"4Gi"},"reservedCPUs":"0-3","applyPolicy":"Default"} A reservedCPUs that is not
// empty replaces resources.cpu by the number of CPUs it names. Every applyPolicy counts.
Result<Resources> parse_reservation(std::string_view annotation);

// `node.koordinator.sh/thirdPartyAllocations`:
// {"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"10k",…}}]}
// Only batch resources are read; allocations of another priority come back with none.
Result<std::vector<ThirdPartyAllocation>> parse_third_party_allocations(std::string_view annotation);

// The same text with the allocation of that name set to these batch resources: replaced in place if present, else
// appended. Other allocations stay as written; unreadable text is dropped as a whole, as in Koordinator.
std::string with_third_party_allocation(std::string_view annotation, std::string_view name, Resources batch);

// `node.koordinator.sh/originExtendedAllocatable`: {"resources":{"kubernetes.io/batch-cpu":"12k",…}}, quantities in
// their canonical form: milli-cores in DecimalSI, bytes in BinarySI.
std::string format_origin(Resources batch);
Result<Resources> parse_origin(std::string_view annotation);

// The book of a node that a YARN operator publishes if it accepts our offers, `tidemark.io/yarn-book`:
// {"schema":1,"generation":7,"confirmed":{"kubernetes.io/batch-cpu":"12k","kubernetes.io/batch-memory":"40Gi"},
//   "sold":[{"class":"spark","resources":{…}}],"waiting":"spark","waitingFor":{…}}
// Without `sold` (the ResourceManager is away) it is unknown what YARN holds. `waiting` is the class of the most timely
// application that waits for capacity, "" if it has none. `waitingFor` is the amount that waiting work of that class
// requests and this node could give; unknown if absent. Another schema or an unknown key is rejected as a whole,
// because its meaning is unknown.
struct YarnBook {
  struct Sold {
    std::string work_class;
    Resources amount;
    bool operator==(const Sold&) const = default;
  };
  // The offer that the ResourceManager last received and confirmed. By number, not by amount: an offer that goes up and
  // back again is two offers.
  std::int64_t generation = 0;
  Resources confirmed;
  std::optional<std::vector<Sold>> sold;  // held by its containers
  std::optional<std::string> waiting;
  std::optional<Resources> waiting_for{};  // with `waiting` only
  bool operator==(const YarnBook&) const = default;
};
inline constexpr std::size_t kYarnClassesMax = 64;
// Any text that changes each time: while work waits, the operator shows with it that the book is still current.
inline constexpr std::string_view kYarnBookRenewedAnnotation = "tidemark.io/yarn-book-renewed";
Result<YarnBook> parse_yarn_book(std::string_view annotation);
std::string format_yarn_book(const YarnBook& book);

// Work of a class that a side must release: [{"class":"transcode","amount":{…},"keep":{…},"reason":"TM-LEDGER-009"}],
// in the order of reclaiming. The receiver uses `keep`, the amount that the class may continue to hold; "" is work
// without a class.
struct Reclaim {
  std::string work_class;
  Resources amount;
  Resources keep;
  std::string reason;  // an id of model/reason.h
  bool operator==(const Reclaim&) const = default;
};
inline constexpr std::size_t kReclaimClassesMax = 64;  // more are published when these are done
void write_reclaim(base::JsonWriter& writer, const std::vector<Reclaim>& reclaim);
Result<std::vector<Reclaim>> read_reclaim(const Json& list);

// What YARN may hand out of a node, and what its work must release, `tidemark.io/yarn-offer`:
// {"schema":1,"generation":7,"resources":{…},"upTo":{…},"reclaim":[…],"drainBy":"2026-03-01T06:00:00.000000Z"}
struct YarnOffer {
  std::int64_t generation = 0;  // grows with each offer
  Resources offer;
  // The largest offer since the operator confirmed that earlier one: an offer that was on its way to the
  // ResourceManager when it was cut may come into force for a moment.
  Resources up_to;
  std::vector<Reclaim> reclaim{};
  // When the containers beyond the offer are preempted; nullopt: running work continues.
  std::optional<base::WallTime> drain_by{};
  bool operator==(const YarnOffer&) const = default;
};
std::string format_yarn_offer(const YarnOffer& offer);
Result<YarnOffer> parse_yarn_offer(std::string_view annotation);

// The ResourceManagers that the yarn-operator asks, on its Lease, `tidemark.io/yarn-managers`:
// {"schema":1,"managers":[{"cluster":"c","id":"rm1","address":"rm-1:8033","state":"active","since":"2026-03-01T…Z"}]}
struct YarnManager {
  std::string cluster;
  std::string id;       // of yarn.resourcemanager.ha.rm-ids; "" without HA
  std::string address;  // of its admin port
  // Its answer: active, standby, initializing, observer. away: no answer. unknown: it refuses to say.
  std::string state;
  base::WallTime since;  // when the operator first saw this state
  bool operator==(const YarnManager&) const = default;
};
Result<std::vector<YarnManager>> parse_yarn_managers(std::string_view annotation);
std::string format_yarn_managers(const std::vector<YarnManager>& managers);

// The work queues of the manager, on its Lease, `tidemark.io/queues`:
// {"schema":1,"queues":[{"name":"overcommit","length":3,"oldestSince":"2026-03-01T…Z"},{"name":"nodeslo","length":0}]}
struct ManagerQueue {
  std::string name;
  std::int64_t length = 0;
  std::optional<base::WallTime> oldest_since;  // nullopt: no entry waits
  bool operator==(const ManagerQueue&) const = default;
};
Result<std::vector<ManagerQueue>> parse_queues(std::string_view annotation);
std::string format_queues(const std::vector<ManagerQueue>& queues);

// `node.koordinator.sh/cpu-basic-info` of a NodeResourceTopology:
// {"cpuModel":"…","hyperThreadEnabled":true,"turboEnabled":true,…}
Result<CpuBasicInfo> parse_cpu_basic_info(std::string_view annotation);

// `scheduling.koordinator.sh/resource-status` of a pod: {"cpuset":"0-3","numaNodeResources":[{"node":0,…}]}. The NUMA
// nodes on which the scheduler placed it, in order and with duplicates; empty if it chose none.
Result<std::vector<std::int32_t>> parse_numa_nodes(std::string_view annotation);

// "0-3,8": the number of CPUs in a Linux CPU list, each counted once. Limited by kCpuListMax, so that "0-4294967295" is
// rejected.
inline constexpr int kCpuListMax = 65536;  // highest CPU number + 1
Result<int> count_cpus(std::string_view cpu_list);

}  // namespace tidemark::model

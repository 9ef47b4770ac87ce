// Reads what annotations carry into the model, and writes the one the manager owns. A text that cannot be read is
// an error here; what that means (nothing reserved, nothing subtracted) is told by NodeSnapshot and decided by the
// policy.
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

// The same text with the allocation of that name set to these batch resources: in its place where there is one, else as
// the last. Others stay as they are written; a text that cannot be read is dropped whole, as the peer does.
std::string with_third_party_allocation(std::string_view annotation, std::string_view name, Resources batch);

// `node.koordinator.sh/originExtendedAllocatable`: {"resources":{"kubernetes.io/batch-cpu":"12k",…}}, quantities in
// their canonical form: milli-cores in DecimalSI, bytes in BinarySI.
std::string format_origin(Resources batch);
Result<Resources> parse_origin(std::string_view annotation);

// What a YARN operator that takes our offers says of a node, `tidemark.io/yarn-book`:
// {"schema":1,"generation":7,"confirmed":{"kubernetes.io/batch-cpu":"12k","kubernetes.io/batch-memory":"40Gi"},
//  "sold":[{"class":"spark","resources":{…}}],"waiting":"spark","waitingFor":{…}}
// Without `sold` (its ResourceManager is away) nobody knows what YARN holds; `waiting` is the class of the most timely
// application that waits for capacity, "" where it has none; `waitingFor` is how much what waits of that class asks for
// that this node could give, without it nobody knows. Another schema is refused whole, as is a key that is not
// known: whoever writes it means something that we would not do.
struct YarnBook {
  struct Sold {
    std::string work_class;
    Resources amount;
    bool operator==(const Sold&) const = default;
  };
  // Of the offer that the ResourceManager was told last and confirmed, and what it says. By number, not by amount: an
  // offer that goes up and back again is two offers.
  std::int64_t generation = 0;
  Resources confirmed;
  std::optional<std::vector<Sold>> sold;  // held by its containers
  std::optional<std::string> waiting;
  std::optional<Resources> waiting_for{};  // with `waiting` only
  bool operator==(const YarnBook&) const = default;
};
inline constexpr std::size_t kYarnClassesMax = 64;
// Any text, another one each time: while work waits, its operator shows by it that the book is still its word.
inline constexpr std::string_view kYarnBookRenewedAnnotation = "tidemark.io/yarn-book-renewed";
Result<YarnBook> parse_yarn_book(std::string_view annotation);
std::string format_yarn_book(const YarnBook& book);

// Work of a class that a side is to give back:
// [{"class":"transcode","giveBack":{…},"keep":{…},"reason":"TM-LEDGER-009"}], what goes first comes first. Who obeys
// goes by `keep`, which the class may go on holding; "" is work without a class.
struct Reclaim {
  std::string work_class;
  Resources give_back;
  Resources keep;
  std::string reason;  // an id of model/reason.h
  bool operator==(const Reclaim&) const = default;
};
inline constexpr std::size_t kReclaimClassesMax = 64;  // further ones are told when these are done
void write_reclaim(base::JsonWriter& writer, const std::vector<Reclaim>& reclaim);
Result<std::vector<Reclaim>> read_reclaim(const Json& list);

// What YARN may hand out of a node, `tidemark.io/yarn-offer`:
// {"schema":1,"generation":7,"resources":{…},"upTo":{…}}
struct YarnOffer {
  std::int64_t generation = 0;  // grows with each offer
  Resources offer;
  // The largest that was offered since the operator confirmed the offer of the time: one that was on its way to the
  // ResourceManager when it was cut may come into force for a moment.
  Resources up_to;
  bool operator==(const YarnOffer&) const = default;
};
std::string format_yarn_offer(const YarnOffer& offer);
Result<YarnOffer> parse_yarn_offer(std::string_view annotation);

// What YARN's work is to give back, `tidemark.io/yarn-reclaim`: {"schema":1,"generation":7,"reclaim":[…]}. It goes with
// the offer of the same generation; beside another one it is what a manager left that does not know it, and nothing is
// to be given back. Absent: neither.
struct YarnReclaim {
  std::int64_t generation = 0;
  std::vector<Reclaim> classes;
  bool operator==(const YarnReclaim&) const = default;
};
inline constexpr std::string_view kYarnReclaimAnnotation = "tidemark.io/yarn-reclaim";
std::string format_yarn_reclaim(const YarnReclaim& reclaim);
Result<YarnReclaim> parse_yarn_reclaim(std::string_view annotation);

// When what YARN's containers hold beyond the offer of the same generation ends, `tidemark.io/yarn-drain`:
// {"schema":1,"generation":7,"by":"2026-03-01T06:00:00.000000Z"}. Beside another offer it says nothing; absent: what
// runs goes on.
struct YarnDrain {
  std::int64_t generation = 0;
  base::WallTime by;
  bool operator==(const YarnDrain&) const = default;
};
inline constexpr std::string_view kYarnDrainAnnotation = "tidemark.io/yarn-drain";
std::string format_yarn_drain(const YarnDrain& drain);
Result<YarnDrain> parse_yarn_drain(std::string_view annotation);

// `node.koordinator.sh/cpu-basic-info` of a NodeResourceTopology:
// {"cpuModel":"…","hyperThreadEnabled":true,"turboEnabled":true,…}
Result<CpuBasicInfo> parse_cpu_basic_info(std::string_view annotation);

// `scheduling.koordinator.sh/resource-status` of a pod: {"cpuset":"0-3","numaNodeResources":[{"node":0,…}]}. On which
// NUMA nodes the scheduler placed it, in the order and as often as they are listed; empty where it placed it on none in
// particular.
Result<std::vector<std::int32_t>> parse_numa_nodes(std::string_view annotation);

// "0-3,8": how many CPUs a Linux CPU list names; each once. Bounded by kCpuListMax, so that "0-4294967295" is refused.
inline constexpr int kCpuListMax = 65536;  // highest CPU number + 1
Result<int> count_cpus(std::string_view cpu_list);

}  // namespace tidemark::model

// Computes which containers fit on a node of a YARN cluster.
//
// A ResourceManager refuses a request that is larger than its largest node or its settings allow. A request that was
// accepted while a node was larger waits until a node is that large again: the application is ACCEPTED and its user
// gets no explanation. The check covers all nodes, but allocation is by partition. So a request that exceeds each node
// of its own partition is accepted, and waits, if another partition has a larger node.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hadoop/capacity_scheduler.h"
#include "hadoop/yarn_records.h"

namespace tidemark::yarn_operator {

// What the scheduler allocates, from its settings; the defaults are Hadoop's.
struct ContainerSizes {
  hadoop::Resource smallest{1024, 1, {}};
  std::vector<hadoop::QueueBound> largest{{std::nullopt, {8192, 4, {}}}};
  bool partitions = true;  // uses node labels
};

// The partition in which the scheduler has the node.
std::string partition_of(const hadoop::NodeReport& report, const ContainerSizes& sizes);

struct PartitionRoom {
  hadoop::Resource largest_container;  // largest that may be requested there
  bool for_the_largest = false;
  hadoop::NodeId largest_node;     // by memory, then by vcores
  hadoop::Resource largest_total;  // of that node
};

struct ContainerRoom {
  bool for_the_smallest = false;                    // on any node
  std::map<std::string, PartitionRoom> partitions;  // that have a node; "": requests without a partition
};

struct NodeTotal {
  const hadoop::Resource* total;
  std::string partition{};
};
using NodeTotals = std::map<hadoop::NodeId, NodeTotal>;

// nullopt: no node. Nodes of `shared` partitions also take requests without a partition.
std::optional<ContainerRoom> container_room(const NodeTotals& totals, const ContainerSizes& sizes,
                                            const std::set<std::string>& shared);

// Whether applications wait for a container that fits on no node of its partition: the average requested memory exceeds
// the largest node. Smaller requests beside it hide that. Vcores are ignored: a scheduler with the
// DefaultResourceCalculator allocates more of them than exist.
bool some_wait_in_vain(const hadoop::QueueWaiting& waiting, const PartitionRoom& room);

}  // namespace tidemark::yarn_operator

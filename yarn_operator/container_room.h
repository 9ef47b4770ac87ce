// Which containers a YARN cluster has a node for.
//
// A ResourceManager refuses whoever asks for more than the largest node has, or than its settings allow. What it let in
// while a node was larger stays, and waits until one is so large again: its application is ACCEPTED, and nothing tells
// its user why. It refuses by all nodes and gives out by partition: what is larger than each node of the one that it
// asks for is let in, and waits so, as long as another partition has a larger one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hadoop/capacity_scheduler.h"
#include "hadoop/yarn_records.h"

namespace tidemark::yarn_operator {

// What its scheduler gives out, by its settings; as Hadoop has them where nobody sets them.
struct ContainerSizes {
  hadoop::Resource smallest{1024, 1, {}};
  std::vector<hadoop::QueueBound> largest{{std::nullopt, {8192, 4, {}}}};
  bool partitions = true;  // it goes by nodes' labels
};

// In which its scheduler has the node.
std::string partition_of(const hadoop::NodeReport& report, const ContainerSizes& sizes);

struct PartitionRoom {
  hadoop::Resource largest_container;  // that may be asked for there
  bool for_the_largest = false;
  hadoop::NodeId largest_node;     // by memory, then by vcores
  hadoop::Resource largest_total;  // of that node
};

struct ContainerRoom {
  bool for_the_smallest = false;                    // on some node
  std::map<std::string, PartitionRoom> partitions;  // that have a node; "": for who asks for none
};

struct NodeTotal {
  const hadoop::Resource* total;
  std::string partition{};
};
using NodeTotals = std::map<hadoop::NodeId, NodeTotal>;

// nullopt: there is no node. Those of `shared` partitions are there also for who asks for none.
std::optional<ContainerRoom> container_room(const NodeTotals& totals, const ContainerSizes& sizes,
                                            const std::set<std::string>& shared);

// Whether a container is waited for that no node of its partition can hold: on average they want more memory than the
// largest one has. Where smaller ones wait beside it that does not show. Vcores are not looked at: a scheduler with the
// DefaultResourceCalculator hands out more of them than there are.
bool some_wait_in_vain(const hadoop::QueueWaiting& waiting, const PartitionRoom& room);

}  // namespace tidemark::yarn_operator

// Which containers a YARN cluster has a node for.
//
// A ResourceManager refuses whoever asks for more than the largest node has, or than its settings allow. What it let in
// while a node was larger stays, and waits until one is so large again: its application is ACCEPTED, and nothing tells
// its user why.
#pragma once

#include <map>
#include <optional>

#include "hadoop/yarn_records.h"

namespace tidemark::yarn_operator {

// What its scheduler gives out, by its settings; as Hadoop has them where nobody sets them.
struct ContainerSizes {
  hadoop::Resource smallest{1024, 1, {}};
  hadoop::Resource largest{8192, 4, {}};
};

struct ContainerRoom {
  bool for_the_smallest = false;
  bool for_the_largest = false;
  hadoop::NodeId largest_node;     // by memory, then by vcores
  hadoop::Resource largest_total;  // of that node
};

using NodeTotals = std::map<hadoop::NodeId, const hadoop::Resource*>;

// nullopt: there is no node.
std::optional<ContainerRoom> container_room(const NodeTotals& totals, const ContainerSizes& sizes);

// Whether a container is waited for that no node can hold: on average they want more memory than the largest node has.
// Where smaller ones wait beside it that does not show. Vcores are not looked at: a scheduler with the
// DefaultResourceCalculator hands out more of them than there are.
bool some_wait_in_vain(const hadoop::QueueWaiting& waiting, const ContainerRoom& room);

}  // namespace tidemark::yarn_operator

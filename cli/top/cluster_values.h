// What `tidemark top` shows of a cluster: the rows, sums and findings of the console's View.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "console/rows.h"
#include "console/view.h"
#include "policy/explain/doctor/node_findings.h"

namespace tidemark::cli {

struct TopPool {
  std::string name;
  std::string mode;  // "enforce", "observe"
  console::Sums sums;
  // The water line in force, in percent; nullopt: the settings are not read yet.
  std::optional<std::int64_t> cpu_line, memory_line;
  std::string why;  // of the line, as sentences; "" with the line
};

struct TopProblem {
  policy::explain::Severity severity = policy::explain::Severity::kOk;
  std::string what, found, fix;
  std::int64_t nodes = 0;
  std::vector<std::string> names;  // of the first of the nodes
};

struct ClusterValues {
  base::WallTime now;
  std::string cluster;
  bool writes = false;                // orders are allowed
  bool read = false;                  // the nodes were read once
  bool judged = false;                // all that findings need was read
  std::vector<std::string> troubles;  // what cannot be read, or is old
  console::Sums sums;
  std::vector<const console::NodeRow*> nodes;  // by pool and name; they belong to the View
  std::vector<TopPool> pools;                  // in the order of the settings
  std::vector<TopProblem> problems;            // the worst first
};

ClusterValues cluster_values(console::View& view, std::string_view cluster, bool writes, base::WallTime now);

// {"schema":1,"summary":…,"pools":[…],"nodes":…,"problems":…}: each as the console's API answers it.
std::string cluster_json(console::View& view, std::string_view cluster, bool writes, base::WallTime now);

}  // namespace tidemark::cli

// A node in a folder: groups of pods as a kubelet makes them (cgroupfs, v2), under simulated time.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "agent/tasks/pod_groups.h"
#include "base/log.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/testing/tree.h"
#include "net/loop.h"
#include "net/testing/loop.h"

namespace tidemark::agent::testing {

using namespace std::chrono_literals;

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() {
    linux::testing::make_v2(tree);
    hierarchies.emplace(linux::Hierarchies::discover(tree.root(), "").value());
    groups = std::make_unique<PodGroups>(loop, *hierarchies, log, PodGroupsConfig());
  }

  // "burstable/podu1", "podu1" of a guaranteed one, "burstable/podu1/c1" of a container's.
  static std::string group(std::string_view below_kubepods) { return base::cat("kubepods/", below_kubepods); }
  void make(std::string_view below_kubepods) { tree.folder(group(below_kubepods)); }
  void runs_in(std::string_view below_kubepods, std::string_view processes) {
    tree.write(base::cat(group(below_kubepods), "/cgroup.procs"), std::string(processes));
  }
  void remove(std::string_view below_kubepods) { tree.remove(group(below_kubepods)); }
  void make_levels() {
    make("burstable");
    make("besteffort");
  }

  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  linux::testing::Tree tree;
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::string lines;  // of the log
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::optional<linux::Hierarchies> hierarchies;
  std::unique_ptr<PodGroups> groups;
  net::Scope scope{loop};
};

}  // namespace tidemark::agent::testing

// Kills cgroups without a kernel: the test says which processes are in which cgroup.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "linux/cgroup/kill.h"

namespace tidemark::agent::testing {

class Killer final : public linux::GroupKiller {
 public:
  // Set before it is asked, read when it has answered: it runs on another thread meanwhile.
  std::map<std::string, std::size_t> processes;  // by path
  std::map<std::string, std::size_t> stuck;      // so many of them do not die
  std::optional<Error> broken;
  std::vector<std::string> again;  // that were killed before
  std::thread::id thread;          // of the last call

  Result<linux::KillReport> kill(const std::string& path) override {
    thread = std::this_thread::get_id();
    if (broken) return fail(*broken);
    const std::size_t left = std::min(processes[path], stuck[path]);
    const linux::KillReport report{processes[path] - left, left};
    processes[path] = left;
    return report;
  }
  Result<linux::KillReport> kill_again(const std::string& path) override {
    again.push_back(path);
    return kill(path);
  }
  Result<linux::KillReport> ask(const std::string& path) override {
    thread = std::this_thread::get_id();
    if (broken) return fail(*broken);
    return linux::KillReport{processes[path], processes[path]};
  }
};

}  // namespace tidemark::agent::testing

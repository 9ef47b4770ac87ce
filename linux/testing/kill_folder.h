// The rim of a kill on folders of groups: processes that end, fork, are frozen and are elsewhere as a test says.
#pragma once

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "linux/cgroup/kill.h"
#include "linux/testing/tree.h"

namespace tidemark::linux::testing {

class KillFolder final : public KillRim, private GroupWriter {
 public:
  struct Process {
    std::vector<std::string> groups;  // by path from the root of the tree: "cpu/top/low"
    bool hears_sigterm = true;
    bool stuck = false;            // in the kernel: no signal ends it
    base::Duration dies_after{0};  // what SIGKILL takes to end it: for all of its memory
    bool dying = false;            // it does so
    bool forks = false;            // while it is signalled and not frozen, another one of its kind comes
    bool doomed = false;           // frozen, with SIGKILL waiting for it
    bool foreign = false;          // of another pid namespace
  };

  explicit KillFolder(Tree& tree) : tree_(tree) {}

  std::map<pid_t, Process> processes;
  std::set<pid_t> told;                      // got SIGTERM
  std::function<void(pid_t)> opened;         // something happens as soon as that process is held
  std::map<std::string, int> refused_files;  // by path from the root of the tree: the errno of writing it
  std::vector<std::string> written;          // "freezer/top/freezer.state=FROZEN"
  pid_t own = 4'000'000;
  bool holds_none = false;  // as before Linux 5.3

  void add(pid_t pid, std::vector<std::string> groups) {
    processes[pid].groups = std::move(groups);
    show();
  }
  // Writes the processes of each cgroup into its files.
  void show() {
    std::map<std::string, std::string> lists;
    for (const auto& group : known_) lists[group];
    for (const auto& [pid, process] : processes) {
      for (const std::string& group : process.groups) lists[group] += base::cat(process.foreign ? 0 : pid, "\n");
    }
    for (const auto& [group, text] : lists) {
      known_.insert(group);
      tree_.write(group + "/cgroup.procs", text);
    }
  }

  GroupWriter& writer() override { return *this; }
  pid_t self() const override { return own; }
  Result<std::optional<Fd>> open_process(pid_t pid) override {
    if (holds_none) return fail(ErrorKind::kUnsupported, "no pidfd_open");
    if (!processes.contains(pid)) return std::nullopt;
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    held_[fd.get()] = pid;
    if (opened) opened(pid);
    return fd;
  }
  Result<bool> signal(const Fd& process, int signal) override {
    const pid_t pid = held_.at(process.get());
    const auto at = processes.find(pid);
    if (at == processes.end()) return false;
    if (signal == SIGTERM) told.insert(pid);
    if (signal == SIGTERM && !at->second.hears_sigterm) return true;
    if (is_frozen(at->second)) {
      at->second.doomed = true;
      return true;
    }
    if (at->second.forks) processes[next_++] = at->second;
    at->second.dying = at->second.dies_after > base::Duration::zero();
    if (!at->second.stuck && !at->second.dying) processes.erase(pid);
    show();
    return true;
  }
  void wait(std::span<const Fd>, base::Duration at_most) override {
    for (auto& [pid, process] : processes) {
      if (process.dying) process.dies_after -= at_most;
    }
    std::erase_if(processes, [](const auto& each) {
      return each.second.dying && each.second.dies_after <= base::Duration::zero();
    });
    show();
  }

 private:
  Result<std::optional<std::size_t>> put(const Group& group, File file, std::string_view text) override {
    if (!group.has(file)) return fail(ErrorKind::kUnsupported, group.place(file).text(), " is not there");
    const std::string path = std::filesystem::relative(group.place(file).text(), tree_.root()).string();
    if (const auto refused = refused_files.find(path); refused != refused_files.end())
      return base::fail_errno(refused->second, base::cat("write to ", path));
    written.push_back(base::cat(path, "=", text));
    tree_.write(path, base::cat(text, "\n"));
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (file == File::kKill) {
      std::erase_if(processes, [&](const auto& each) {
        return !each.second.stuck && std::ranges::any_of(each.second.groups, [&](const std::string& one) {
          return one == folder || one.starts_with(folder + "/");
        });
      });
    }
    std::erase_if(processes, [&](const auto& each) {
      return each.second.doomed && !each.second.stuck && !each.second.dying && !is_frozen(each.second);
    });
    show();
    return text.size();
  }
  // In its own group or one above it.
  bool is_frozen(const Process& process) const {
    for (const std::string& one : process.groups) {
      for (std::filesystem::path group = one; !group.empty(); group = group.parent_path()) {
        std::ifstream in(tree_.path((group / "freezer.state").string()));
        std::string state;
        if (in >> state && state == "FROZEN") return true;
      }
    }
    return false;
  }

  Tree& tree_;
  std::set<std::string> known_;
  std::map<int, pid_t> held_;
  pid_t next_ = 1'000'000;
};

}  // namespace tidemark::linux::testing

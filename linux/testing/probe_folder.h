// The rim of a probe on folders: groups appear with the files of a kernel, which keeps a kernel's rules unless a test
// says how it fails.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "linux/knob_probe.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/tree.h"

namespace tidemark::linux::testing {

// A kernel's rules, but for some files: `deaf` ones take what is written and keep what they have, `refusing` ones
// refuse that text. With `idle_in_name_only` a group that is idle keeps its weight.
class FlawedWriter final : public GroupWriter {
 public:
  std::set<File> deaf;
  std::map<File, std::string> refusing;
  bool idle_in_name_only = false;

  Result<std::optional<std::size_t>> put(const Group& group, File file, std::string_view text) override {
    const auto refused = refusing.find(file);
    if (refused != refusing.end() && refused->second == text)
      return base::fail_errno(EINVAL, base::cat("write to ", group.place(file).text()));
    if (deaf.contains(file)) return text.size();
    if (file == File::kCpuIdle && idle_in_name_only) {
      std::ofstream(group.place(file).text(), std::ios::binary | std::ios::trunc) << text << "\n";
      return text.size();
    }
    return rules_.put(group, file, text);
  }

 private:
  KernelRules rules_;
};

class ProbeFolder final : public ProbeRim {
 public:
  // By folder of the hierarchy (v1: "cpu" …; v2: ""), the files of a new group.
  std::map<std::string, std::map<std::string, std::string>> files;
  FlawedWriter flawed;
  // Instead of what a sound kernel does with the processes of each trial.
  std::function<Result<SpinReport>()> spun;
  std::function<Result<RaceReport>()> raced;
  std::function<Result<FillReport>()> filled;
  std::map<std::string, int> refused_folders;  // hierarchies in which no group may be made, and the errno
  bool throttles = true, limits_memory = true;
  std::vector<std::string> made, removed;             // groups, by path from the root of the tree
  std::pair<std::string, std::string> weights_raced;  // of the group of the trial and of the one beside it
  std::string weight_of_trial_at_its_end;

  ProbeFolder(Tree& tree, Version version) : tree_(tree), version_(version) {
    if (version == Version::kV1) {
      make_v1(tree);
      tree.write("cpuset/cpuset.cpus", "2-3\n");
      tree.write("cpuset/cpuset.mems", "0\n");
      files["cpu"] = {{"cpu.shares", "1024"},
                      {"cpu.cfs_quota_us", "-1"},
                      {"cpu.cfs_period_us", "100000"},
                      {"cpu.idle", "0"},
                      {"cpu.bvt_warp_ns", "0"},
                      {"cpu.qos_level", "0"},
                      {"cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0"}};
      files["cpuset"] = {{"cpuset.cpus", ""}, {"cpuset.mems", ""}};
      files["memory"] = {{"memory.limit_in_bytes", "9223372036854771712"},
                         {"memory.usage_in_bytes", "0"},
                         {"memory.failcnt", "0"},
                         {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0"},
                         {"memory.min", "0"},
                         {"memory.low", "0"}};
      for (const char* name : {"cpuacct", "blkio", "pids", "freezer"}) files[name] = {};
    } else {
      make_v2(tree);
      tree.write("cpuset.cpus.effective", "2-3\n");
      files[""] = {
          {"cpu.weight", "100"},   {"cpu.max", "max 100000"},
          {"cpu.idle", "0"},       {"cpu.bvt_warp_ns", "0"},
          {"cpu.qos_level", "0"},  {"cpu.stat", "usage_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0"},
          {"cpuset.cpus", ""},     {"memory.max", "max"},
          {"memory.min", "0"},     {"memory.low", "0"},
          {"memory.current", "0"}, {"memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0"}};
    }
  }

  Result<void> make_group(int, const std::string&, const Place& place) override {
    const auto relative = std::filesystem::relative(place.text(), tree_.root()).string();
    const std::string hierarchy = version_ == Version::kV2 ? "" : relative.substr(0, relative.find('/'));
    if (const auto refused = refused_folders.find(hierarchy); refused != refused_folders.end())
      return base::fail_errno(refused->second, base::cat("make ", place.text()));
    if (std::filesystem::exists(place.text())) return base::fail_errno(EEXIST, base::cat("make ", place.text()));
    tree_.write(relative + "/cgroup.procs", "");
    for (const auto& [name, text] : files[hierarchy]) tree_.write(relative + "/" + name, text + "\n");
    made.push_back(relative);
    return {};
  }

  // As a kernel: none with groups below it, and none with a process in it.
  Result<void> remove_group(int, const std::string&, const Place& place) override {
    const std::filesystem::path path = place.text();
    if (!std::filesystem::exists(path)) return {};
    if (auto weight = weight_of(""); !weight.empty()) weight_of_trial_at_its_end = std::move(weight);
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_directory()) return base::fail_errno(EBUSY, base::cat("remove ", path.string()));
    }
    if (std::filesystem::exists(path / "cgroup.procs") && std::filesystem::file_size(path / "cgroup.procs") > 1)
      return base::fail_errno(EBUSY, base::cat("remove ", path.string()));
    std::filesystem::remove_all(path);
    removed.push_back(std::filesystem::relative(path, tree_.root()).string());
    return {};
  }

  GroupWriter& writer() override { return flawed; }

  Result<SpinReport> spin(const Spin& spin) override {
    if (spin.release) spin.release();
    if (spun) return spun();
    SpinReport out{0, std::chrono::milliseconds(4), spin.at_most, {}};
    for (const std::string& group : made) {
      if (group.ends_with(kBesideSuffix)) continue;  // it has no process
      if (throttles) throttle(group);
      if (const auto cpus = text_of(group + "/cpuset.cpus")) out.cpus = CpuSet::parse(*cpus).value();
    }
    if (!throttles) out.ran = spin.busy;
    return out;
  }

  Result<RaceReport> race(const Race& race) override {
    const auto handicap = race.handicap();
    weights_raced = {weight_of(""), weight_of(kBesideSuffix)};
    race.release();
    if (!handicap) return fail(handicap.error());
    if (raced) return raced();
    return RaceReport{0, {std::chrono::microseconds(40), race.busy}};
  }

  Result<FillReport> fill(const Fill& fill) override {
    if (filled) return filled();
    const std::int64_t had = ::sysconf(_SC_PAGESIZE) * static_cast<std::int64_t>(fill.pages);
    for (const std::string& group : made) {
      overwrite(group + "/memory.usage_in_bytes", base::cat(limits_memory ? had / 2 : had));
      overwrite(group + "/memory.current", base::cat(limits_memory ? had / 2 : had));
      if (!limits_memory) continue;
      overwrite(group + "/memory.failcnt", "7");
      overwrite(group + "/memory.events", "low 0\nhigh 0\nmax 7\noom 0\noom_kill 0");
    }
    fill.look();
    return FillReport{0, true};
  }

 private:
  std::optional<std::string> text_of(const std::string& relative) const {
    std::ifstream in(tree_.path(relative), std::ios::binary);
    if (!in) return std::nullopt;
    return std::string((std::istreambuf_iterator<char>(in)), {});
  }
  void overwrite(const std::string& relative, const std::string& text) const {
    if (text_of(relative)) tree_.write(relative, text + "\n");
  }
  // Of the group whose name has that end.
  std::string weight_of(std::string_view suffix) const {
    for (const std::string& group : made) {
      if (group.ends_with(kBesideSuffix) != !suffix.empty()) continue;
      for (const char* name : {"/cpu.shares", "/cpu.weight"}) {
        if (const auto text = text_of(group + name)) return text->substr(0, text->find('\n'));
      }
    }
    return "";
  }
  void throttle(const std::string& group) {
    constexpr std::string_view kNever = "nr_throttled 0";
    auto text = text_of(group + "/cpu.stat");
    const std::size_t at = text ? text->find(kNever) : std::string::npos;
    if (at == std::string::npos) return;
    tree_.write(group + "/cpu.stat", text->replace(at, kNever.size(), "nr_throttled 3"));
  }

  Tree& tree_;
  Version version_;
};

}  // namespace tidemark::linux::testing

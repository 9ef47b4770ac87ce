// A group with a child, in a folder that keeps a kernel's rules or in the hierarchies of the machine that runs the
// test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>

#include "linux/cgroup/limit.h"
#include "linux/cgroup/write.h"
#include "linux/cpu_set.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/own_group.h"
#include "linux/testing/tree.h"

namespace tidemark::linux::testing {

enum class Where { kFolder, kMachine };

inline std::ostream& operator<<(std::ostream& out, Where where) {
  return out << (where == Where::kFolder ? "folder" : "machine");
}

// A group of this machine with one called "low" in it, where cpu, cpuset and memory are of that version.
class MachineGroups {
 public:
  explicit MachineGroups(Version version) : why_not_(make(version)) {}
  const std::string& why_not() const { return why_not_; }  // empty: they are there
  const Hierarchies& hierarchies() const { return *hierarchies_; }
  const std::string& name() const { return own_->name(); }

 private:
  std::string make(Version version) {
    Buffer buffer;
    const auto mounts = read_path("/proc/self/mountinfo", buffer);
    EXPECT_TRUE(mounts && *mounts);
    if (!mounts || !*mounts || parse_mounts(kMachineRoot, **mounts).empty()) return "no cgroup hierarchy is mounted";
    auto found = Hierarchies::discover(kMachineRoot, **mounts);
    EXPECT_TRUE(found) << found.error().message;
    if (!found) return found.error().message;
    hierarchies_ = std::move(*found);
    for (const File file : {File::kCpuQuota, File::kCpusetCpus, File::kMemoryLimit}) {
      const auto* home = hierarchies_->home(file);
      if (!home || home->version != version) return "cpu, cpuset and memory of this machine are of the other version";
    }
    if (!has_two_processors(version, buffer)) return "needs processors 0 and 1";
    own_.emplace(*hierarchies_);
    if (!own_->complete() || !own_->make_below("low")) return "may not make groups";
    if (version == Version::kV2 && !own_->give_controllers("+cpu +cpuset +memory"))
      return "controllers are not given to groups here";
    return {};
  }
  bool has_two_processors(Version version, Buffer& buffer) {
    const auto root = Group::open(*hierarchies_, "");
    if (!root || !*root) return false;
    const auto text = (*root)->read(version == Version::kV1 ? File::kCpusetCpus : File::kCpusetCpusEffective, buffer);
    const CpuSet cpus = text && *text ? CpuSet::parse(**text).value_or(CpuSet{}) : CpuSet{};
    return cpus.contains(0) && cpus.contains(1);
  }

  std::optional<Hierarchies> hierarchies_;
  std::optional<OwnGroup> own_;
  std::string why_not_;
};

// "top" and "top/low", both on processors 0 and 1, without limits.
class TwoGroups : public ::testing::TestWithParam<Where> {
 protected:
  explicit TwoGroups(Version version) : version_(version) {}
  void SetUp() override {
    if (GetParam() == Where::kFolder) {
      version_ == Version::kV1 ? make_folder_v1() : make_folder_v2();
    } else {
      make_on_machine();
    }
    if (IsSkipped() || HasFatalFailure()) return;
    top = open(top_path_);
    low = open(top_path_ + "/low");
    ASSERT_TRUE(top && low);
    for (Group* group : {&*top, &*low}) {
      must(*group, File::kCpusetMems, "0");
      must(*group, File::kCpusetCpus, "0-1");
    }
  }

  WriteReport write(const Group& group, File file, std::string text, std::optional<std::string> expected = {}) {
    return compare_and_write({&group, file, std::move(text), std::move(expected)}, *writer, buffer);
  }
  void must(const Group& group, File file, const std::string& text) {
    const WriteReport report = write(group, file, text);
    EXPECT_TRUE(report.outcome == WriteOutcome::kWritten || report.outcome == WriteOutcome::kAlready)
        << text << ": " << to_string(report.outcome) << (report.error ? report.error->message : "");
  }
  void refused(const Group& group, File file, const std::string& text, int error) {
    const WriteReport report = write(group, file, text);
    ASSERT_EQ(report.outcome, WriteOutcome::kRefused)
        << text << " of " << group.place(file).text() << ": " << to_string(report.outcome);
    EXPECT_EQ(report.error->code, error) << report.error->message;
  }
  std::int64_t number(const Group& group, File file) {
    const auto value = read_value(group, file, buffer);
    EXPECT_TRUE(value && *value);
    return value && *value ? **value : -2;
  }
  std::string cpus(const Group& group) {
    const auto text = group.read(File::kCpusetCpus, buffer);
    return text && *text ? CpuSet::parse(**text).value_or(CpuSet{}).text() : "unreadable";
  }
  void expect_written(std::span<const FileWrite> writes) {
    for (const WriteReport& report : write_levelled(writes, *writer, buffer)) {
      EXPECT_EQ(report.outcome, WriteOutcome::kWritten) << (report.error ? report.error->message : "");
    }
  }

  Buffer buffer;
  std::unique_ptr<GroupWriter> writer;
  std::optional<Group> top, low;

 private:
  void make_folder_v1() {
    tree_.emplace();
    make_v1(*tree_);
    tree_->write("cpuset/cpuset.cpus", "0-3\n");
    for (const std::string group : {"top", "top/low"}) {
      make_v1_group(*tree_, group);
      for (const auto& [file, text] :
           {std::pair{"cpu/%/cpu.cfs_quota_us", "-1"}, std::pair{"cpu/%/cpu.cfs_period_us", "100000"},
            std::pair{"cpu/%/cpu.cfs_burst_us", "0"}, std::pair{"cpu/%/cpu.shares", "1024"},
            std::pair{"cpu/%/cpu.idle", "0"}, std::pair{"cpuset/%/cpuset.cpus", ""},
            std::pair{"cpuset/%/cpuset.mems", ""}, std::pair{"memory/%/memory.limit_in_bytes", "9223372036854771712"},
            std::pair{"memory/%/memory.usage_in_bytes", "0"}}) {
        std::string path = file;
        path.replace(path.find('%'), 1, group);
        tree_->write(path, std::string(text) + "\n");
      }
    }
    discover_folder();
  }
  void make_folder_v2() {
    tree_.emplace();
    make_v2(*tree_);
    tree_->write("cpuset.cpus.effective", "0-3\n");
    for (const std::string group : {"top", "top/low"}) {
      make_v2_group(*tree_, "", group);
      for (const auto& [file, text] :
           {std::pair{"cpu.max", "max 100000"}, std::pair{"cpu.max.burst", "0"}, std::pair{"cpu.weight", "100"},
            std::pair{"cpu.idle", "0"}, std::pair{"cpuset.cpus", ""}, std::pair{"cpuset.mems", ""},
            std::pair{"memory.max", "max"}, std::pair{"memory.min", "0"}}) {
        tree_->write(group + "/" + file, std::string(text) + "\n");
      }
    }
    discover_folder();
  }
  void discover_folder() {
    auto found = Hierarchies::discover(tree_->root(), "");
    ASSERT_TRUE(found) << found.error().message;
    folder_ = std::move(*found);
    hierarchies_ = &*folder_;
    writer = std::make_unique<KernelRules>();
    top_path_ = "top";
  }
  void make_on_machine() {
    machine_.emplace(version_);
    if (!machine_->why_not().empty()) GTEST_SKIP() << machine_->why_not();
    hierarchies_ = &machine_->hierarchies();
    writer = std::make_unique<KernelWriter>();
    top_path_ = machine_->name();
  }
  std::optional<Group> open(const std::string& path) {
    auto group = Group::open(*hierarchies_, path);
    EXPECT_TRUE(group) << group.error().message;
    return group ? std::move(*group) : std::nullopt;
  }

  Version version_;
  std::optional<Tree> tree_;
  std::optional<Hierarchies> folder_;
  std::optional<MachineGroups> machine_;
  const Hierarchies* hierarchies_ = nullptr;
  std::string top_path_;
};

}  // namespace tidemark::linux::testing

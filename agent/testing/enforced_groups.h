// Groups that an enforcer writes, on each kind of kernel: folders that keep the rules of cgroup v1 or v2, and this
// machine.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/enforcer/enforcer.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/scan.h"
#include "linux/testing/descriptor_limit.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/own_group.h"
#include "linux/testing/tree.h"

namespace tidemark::agent::testing {

constexpr Permits all(Permit permit) {
  Permits out{};
  out.fill(permit);
  return out;
}

enum class Where { kV1, kV2, kMachine };

inline std::string name_of(const ::testing::TestParamInfo<Where>& info) {
  return info.param == Where::kV1 ? "v1" : info.param == Where::kV2 ? "v2" : "machine";
}

class EnforcedGroups : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::kMachine) {
      linux::Buffer buffer;
      const auto mounts = linux::read_path("/proc/self/mountinfo", buffer);
      ASSERT_TRUE(mounts && *mounts);
      hierarchies.emplace(linux::Hierarchies::discover(linux::testing::kMachineRoot, **mounts).value());
      const auto* home = hierarchies->home(linux::File::kCpuQuota);
      if (home == nullptr || home->version != linux::Version::kV1) GTEST_SKIP() << "cpu of this machine is not of v1";
      own.emplace(*hierarchies);
      if (!own->complete()) GTEST_SKIP() << "may not make groups";
      top = own->name();
      give_processors(top);
    } else {
      GetParam() == Where::kV1 ? linux::testing::make_v1(cgroups) : linux::testing::make_v2(cgroups);
      hierarchies.emplace(linux::Hierarchies::discover(cgroups.root(), "").value());
      if (GetParam() == Where::kV1) cgroups.write("cpuset/cpuset.cpus", "0-1");
      top = "kubepods";
      make_files(top);
    }
    make("be");
    make("be/p1");
  }
  void TearDown() override {
    enforcer.reset();
    journal.reset();
    for (auto path = made.rbegin(); path != made.rend(); ++path) drop(*path);
  }

  std::string path(std::string_view below) const { return base::cat(top, "/", below); }
  void make(std::string_view below) {
    if (own) {
      made.emplace_back(below);
      for (const auto& one : hierarchies->all()) ::mkdir(base::cat(one.path, "/", path(below)).c_str(), 0755);
      give_processors(path(below));
    } else {
      make_files(path(below));
    }
  }
  void drop(std::string_view below) {
    for (const auto& one : hierarchies->all()) {
      const std::string folder = base::cat(one.path, "/", path(below));
      own ? static_cast<void>(::rmdir(folder.c_str())) : static_cast<void>(std::filesystem::remove_all(folder));
    }
  }
  void drop_from(linux::Controller controller, std::string_view below) {
    const auto hierarchy = hierarchies->of(controller);
    ASSERT_TRUE(hierarchy);
    const std::string folder = base::cat(hierarchies->all()[*hierarchy].path, "/", path(below));
    own ? static_cast<void>(::rmdir(folder.c_str())) : static_cast<void>(std::filesystem::remove_all(folder));
  }

  void end() {
    enforcer.reset();
    journal.reset();
  }
  void start() {
    end();
    journal.emplace(FoundJournal::open(run.root(), "b1").value());
    enforcer = std::make_unique<Enforcer>(*hierarchies, kernel(), *journal, clock);
  }
  linux::GroupWriter& kernel() {
    if (own) return machine;
    return rules;
  }
  const Enforced& carry_out(const std::vector<policy::protect::KnobWrite>& wanted,
                            const Permits& permits = all(Permit::kEnforce)) {
    return enforcer->carry_out(wanted, permits);
  }
  const Enforced& carry_out_off(const std::vector<policy::protect::KnobWrite>& wanted) {
    return enforcer->carry_out(wanted, all(Permit::kEnforce), true);
  }
  // One that cannot look at anything in the moment in which it begins.
  void start_without_descriptors() {
    end();
    journal.emplace(FoundJournal::open(run.root(), "b1").value());
    const linux::testing::DescriptorLimit none_left(0);
    enforcer = std::make_unique<Enforcer>(*hierarchies, kernel(), *journal, clock);
  }
  // A second writer sets the quota of `be` until the enforcer leaves it to that writer.
  void leave_quota_to_another(std::string_view his) {
    const auto wanted = std::vector{quota_of("be", 120'000)};
    carry_out(wanted);
    for (int times = 0; times < 3; ++times) {
      foreign("be", linux::File::kCpuQuota, his);
      clock.advance(kLookInterval);
      carry_out(wanted);
    }
    ASSERT_EQ(carry_out(wanted).left, 1);
    ASSERT_EQ(value("be", linux::File::kCpuQuota), quota(his));
  }

  std::string value(std::string_view below, linux::File file) {
    const auto group = linux::Group::open(*hierarchies, path(below));
    if (!group || !*group) return "gone";
    linux::Buffer buffer;
    const auto text = (*group)->read(file, buffer);
    return text && *text ? std::string(linux::without_line_end(**text)) : "none";
  }
  void foreign(std::string_view below, linux::File file, std::string_view text) {
    const auto group = linux::Group::open(*hierarchies, path(below));
    ASSERT_TRUE(group && *group);
    ASSERT_TRUE(kernel().put(**group, file, text));
  }
  bool v2() const { return GetParam() == Where::kV2; }
  std::string quota(std::string_view number) const {
    return v2() ? base::cat(number == "-1" ? "max" : number, " 100000") : std::string(number);
  }

  policy::protect::KnobWrite quota_of(std::string_view below, std::int64_t quota) const {
    return {path(below), policy::protect::Knob::kCpuQuota, quota,
            {},          model::Strategy::kCpuSuppress,    model::Reason::kSuppressUnderLine};
  }
  policy::protect::KnobWrite cpus_of(std::string_view below, std::vector<std::int32_t> cpus) const {
    return {path(below),     policy::protect::Knob::kCpusetCpus, 0,
            std::move(cpus), model::Strategy::kCpuSuppress,      model::Reason::kSuppressUnderLine};
  }
  policy::protect::KnobWrite idle_of(std::string_view below) const {
    return {path(below), policy::protect::Knob::kCpuIdle, 1,
            {},          model::Strategy::kCpuPriority,   model::Reason::kPriorityByClass};
  }
  policy::protect::KnobWrite shares_of(std::string_view below, std::int64_t shares) const {
    return {path(below), policy::protect::Knob::kCpuShares, shares,
            {},          model::Strategy::kBatchLimits,     model::Reason::kLimitFromBatch};
  }
  bool told(const Enforced& enforced, model::Reason reason) const {
    return std::ranges::any_of(enforced.deeds, [&](const Deed& deed) { return deed.reason == reason; });
  }

  linux::testing::Tree cgroups, run;
  linux::testing::KernelRules rules;
  linux::KernelWriter machine;
  std::optional<linux::Hierarchies> hierarchies;
  std::optional<linux::testing::OwnGroup> own;
  std::vector<std::string> made;
  std::string top;
  base::testing::Clock clock;
  std::optional<FoundJournal> journal;
  std::unique_ptr<Enforcer> enforcer;

 private:
  void make_files(const std::string& group) {
    if (GetParam() == Where::kV2) {
      linux::testing::make_v2_group(cgroups, "", group);
      for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
               {"cpu.max", "max 100000"}, {"cpu.weight", "100"}, {"cpu.idle", "0"}, {"cpuset.cpus", ""}}) {
        cgroups.write(base::cat(group, "/", name), base::cat(text, "\n"));
      }
      return;
    }
    linux::testing::make_v1_group(cgroups, group);
    for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
             {"cpu.cfs_quota_us", "-1"}, {"cpu.shares", "1024"}, {"cpu.idle", "0"}}) {
      cgroups.write(base::cat("cpu/", group, "/", name), base::cat(text, "\n"));
    }
    // As a runtime makes it: with what its parent has.
    const auto parent = linux::Group::open(*hierarchies, group.substr(0, group.rfind('/')));
    linux::Buffer buffer;
    const auto cpus = parent && *parent && group != top ? (*parent)->read(linux::File::kCpusetCpus, buffer)
                                                        : Result<std::optional<std::string_view>>("0-1\n");
    cgroups.write(base::cat("cpuset/", group, "/cpuset.cpus"), cpus && *cpus ? **cpus : "0-1\n");
  }
  void give_processors(const std::string& group) {
    const auto slash = group.rfind('/');
    const auto parent = linux::Group::open(*hierarchies, slash == std::string::npos ? "" : group.substr(0, slash));
    const auto child = linux::Group::open(*hierarchies, group);
    ASSERT_TRUE(parent && *parent && child && *child);
    for (const linux::File file : {linux::File::kCpusetCpus, linux::File::kCpusetMems}) {
      linux::Buffer buffer;
      const auto text = (*parent)->read(file, buffer);
      ASSERT_TRUE(text && *text);
      ASSERT_TRUE(machine.put(**child, file, **text));
    }
  }
};

}  // namespace tidemark::agent::testing

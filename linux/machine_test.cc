// The readers on the kernel that runs the test. Nothing is written except in groups named tidemark-test-<pid>, which
// the test makes and removes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "linux/cgroup/cpu.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/io.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/memory.h"
#include "linux/cgroup/processes.h"
#include "linux/cpu_set.h"
#include "linux/proc/cpu_times.h"
#include "linux/proc/disks.h"
#include "linux/proc/machine.h"
#include "linux/proc/memory_info.h"
#include "linux/proc/network.h"
#include "linux/proc/process.h"
#include "linux/psi.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

// A group of its own in every hierarchy in which this user may make one.
class OwnGroup {
 public:
  explicit OwnGroup(const Hierarchies& hierarchies) : name_("tidemark-test-" + std::to_string(::getpid())) {
    for (const Hierarchy& one : hierarchies.all()) {
      const std::string path = one.path + "/" + name_;
      if (::mkdir(path.c_str(), 0755) == 0) made_.push_back(path);
    }
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  ~OwnGroup() { remove(); }

  const std::string& name() const { return name_; }
  const std::vector<std::string>& made() const { return made_; }
  void remove() {
    for (const std::string& path : made_) ::rmdir(path.c_str());
    made_.clear();
  }

 private:
  std::string name_;
  std::vector<std::string> made_;
};

struct Machine : ::testing::Test {
  Buffer buffer;
  std::optional<Hierarchies> hierarchies;

  void SetUp() override {
    auto mounts = read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts) << mounts.error().message;
    if (!*mounts || parse_mounts(kRoot, **mounts).empty())
      GTEST_SKIP() << "no cgroup hierarchy is mounted at " << kRoot;
    auto found = Hierarchies::discover(kRoot, **mounts);
    ASSERT_TRUE(found) << found.error().message;
    hierarchies = std::move(*found);
  }
};

TEST_F(Machine, TheRootGroupOfEveryHierarchyIsThere) {
  const auto root = Group::open(*hierarchies, "");
  ASSERT_TRUE(root) << root.error().message;
  ASSERT_TRUE(*root);
  EXPECT_TRUE((*root)->alive());
  EXPECT_TRUE((*root)->has(File::kProcesses));
}

TEST_F(Machine, AGroupIsReadWhileItLivesAndGoneAfterwards) {
  OwnGroup own(*hierarchies);
  if (own.made().size() != hierarchies->all().size())
    GTEST_SKIP() << "may not make groups in every hierarchy below " << kRoot;
  auto opened = Group::open(*hierarchies, own.name());
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(*opened);
  Group& group = **opened;
  for (const File file : {File::kCpuUsage, File::kMemoryUsage, File::kProcesses}) {
    if (!group.has(file)) continue;  // v2: the controller may not be enabled for groups below the root
    ASSERT_TRUE(group.keep(file));
    const auto text = group.read(file, buffer);
    ASSERT_TRUE(text && *text) << group.place(file).text();
  }
  EXPECT_TRUE(group.alive());
  own.remove();
  EXPECT_FALSE(group.alive());
  for (const File file : {File::kCpuUsage, File::kMemoryUsage, File::kProcesses}) {
    const auto text = group.read(file, buffer);  // kept: the kernel answers ENODEV
    EXPECT_TRUE(!hierarchies->home(file) || (text && !*text)) << group.place(file).text();
  }
}

// Whatever a group here has is read and understood; what it lacks is said to be missing. A group without processes used
// no memory and was never throttled, and that is a zero which the kernel wrote.
TEST_F(Machine, EveryReaderUnderstandsAGroup) {
  OwnGroup own(*hierarchies);
  if (own.made().size() != hierarchies->all().size())
    GTEST_SKIP() << "may not make groups in every hierarchy below " << kRoot;
  const auto opened = Group::open(*hierarchies, own.name());
  ASSERT_TRUE(opened && *opened);
  const Group& group = **opened;
  const auto expect_read = [&](const auto& read, File file) {
    if (group.has(file)) {
      EXPECT_TRUE(read && *read) << group.place(file).text() << (read ? "" : read.error().message);
    } else if (!read) {
      EXPECT_EQ(read.error().kind, ErrorKind::kUnsupported) << read.error().message;
    }
  };
  const auto usage = read_cpu_usage_ns(group, buffer);
  expect_read(usage, File::kCpuUsage);
  EXPECT_EQ(usage.value(), 0);
  if (group.version(File::kCpuThrottling) == Version::kV1) {
    const auto throttling = read_cpu_throttling(group, buffer);
    expect_read(throttling, File::kCpuThrottling);
    EXPECT_EQ(throttling.value()->throttled_periods, 0);
  }
  expect_read(read_cpuset(group, File::kCpusetCpus, buffer), File::kCpusetCpus);
  expect_read(read_cpuset(group, File::kCpusetCpusEffective, buffer), File::kCpusetCpusEffective);
  expect_read(read_memory_use(group, buffer), File::kMemoryStat);
  expect_read(read_memory_events(group, buffer), File::kMemoryEvents);
  expect_read(read_pids(group, buffer), File::kPidsUsage);
  for (const File file : {File::kCpuShares, File::kCpuQuota, File::kCpuPeriod, File::kCpuBurst, File::kCpuIdle,
                          File::kCpuBvt, File::kMemoryLimit, File::kMemoryMin, File::kMemoryHigh, File::kPidsLimit}) {
    expect_read(read_value(group, file, buffer), file);
  }
  if (group.has(File::kCpuQuota)) {
    EXPECT_EQ(read_value(group, File::kCpuQuota, buffer).value(), kUnlimited);
    EXPECT_EQ(read_value(group, File::kCpuShares, buffer).value(),
              group.version(File::kCpuShares) == Version::kV1 ? 1024 : shares_of_weight(100));
  }
  if (group.has(File::kMemoryLimit)) EXPECT_EQ(read_value(group, File::kMemoryLimit, buffer).value(), kUnlimited);
  std::vector<DeviceIo> devices;
  if (group.has(File::kIoBytes)) EXPECT_TRUE(read_io(group, buffer, devices).value());
  std::vector<pid_t> processes;
  EXPECT_TRUE(read_processes(group, File::kProcesses, buffer, processes).value());
  EXPECT_TRUE(processes.empty());
  for (const File file : {File::kCpuPressure, File::kMemoryPressure, File::kIoPressure}) {
    if (!group.has(file)) continue;
    const auto text = group.read(file, buffer);
    ASSERT_TRUE(text && *text) << group.place(file).text();
    const auto pressure = parse_pressure(**text);
    EXPECT_TRUE(pressure) << pressure.error().message;
  }
}

struct Procfs : ::testing::Test {
  Buffer buffer;
  Folder proc = Folder::open("/proc").value();
};

TEST_F(Procfs, TheMachineIsUnderstood) {
  MachineCpuTimes times;
  const auto read = read_cpu_times(proc, buffer, times);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(times.each.empty());
  EXPECT_GT(times.all.busy(), 0);
  const auto memory = read_memory_info(proc, buffer);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_GT(memory->used(), 0);
  std::vector<Disk> disks;
  EXPECT_TRUE(read_disks(proc, buffer, disks));
  std::vector<NetworkInterface> interfaces;
  EXPECT_TRUE(read_network(proc, buffer, interfaces));
  EXPECT_FALSE(interfaces.empty()) << "lo at least";
  EXPECT_TRUE(read_load(proc, buffer));
  EXPECT_EQ(read_boot_id(proc, buffer).value(), read_boot_id(proc, buffer).value());
  for (const char* resource : {"pressure/cpu", "pressure/memory", "pressure/io", "pressure/irq"}) {
    const auto pressure = read_pressure(proc, resource, buffer);
    if (!pressure) EXPECT_EQ(pressure.error().kind, ErrorKind::kUnsupported) << pressure.error().message;
  }
}

TEST_F(Procfs, ThisProcessIsUnderstood) {
  const auto queue = read_schedstat(proc, ::getpid(), buffer);
  ASSERT_TRUE(queue && *queue);
  EXPECT_GT(read_start_ticks(proc, ::getpid(), buffer).value(), 0);
  const auto text = proc.read("self/cgroup", buffer);
  ASSERT_TRUE(text && *text);
  for (const std::string_view controller : {"cpu", ""}) {
    const auto group = parse_process_group(**text, controller);
    EXPECT_TRUE(group || group.error().kind == ErrorKind::kUnsupported) << group.error().message;
  }
}

// The folder is called like the kernel's own headers (<linux/…>), and the root of the tree is searched first: a header
// of the same name here would take the place of the kernel's.
TEST(HeaderNames, NoneIsAlsoOneOfTheKernels) {
  const std::filesystem::path here = std::filesystem::path(TIDEMARK_SOURCE_DIR) / "linux";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(here)) {
    if (entry.path().extension() != ".h") continue;
    const auto relative = std::filesystem::relative(entry.path(), here);
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path("/usr/include/linux") / relative)) << relative;
  }
}

}  // namespace
}  // namespace tidemark::linux

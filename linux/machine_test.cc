// The readers on the kernel that runs the test. Nothing is written except in groups named tidemark-test-<pid>, which
// the test makes and removes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/testing/source_dir.h"
#include "linux/cgroup/cpu.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/io.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/memory.h"
#include "linux/cgroup/processes.h"
#include "linux/cpu_set.h"
#include "linux/folder_watch.h"
#include "linux/kmsg.h"
#include "linux/kubepods.h"
#include "linux/numa.h"
#include "linux/perf.h"
#include "linux/proc/cpu_times.h"
#include "linux/proc/memory_info.h"
#include "linux/proc/process.h"
#include "linux/psi.h"
#include "linux/testing/own_group.h"
#include "linux/testing/tree.h"
#include "linux/topology.h"

namespace tidemark::linux {
namespace {

using testing::kMachineRoot;
using testing::OwnGroup;

struct Machine : ::testing::Test {
  Buffer buffer;
  std::optional<Hierarchies> hierarchies;

  void SetUp() override {
    auto mounts = read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts) << mounts.error().message;
    if (!*mounts || parse_mounts(kMachineRoot, **mounts).empty())
      GTEST_SKIP() << "no cgroup hierarchy is mounted at " << kMachineRoot;
    auto found = Hierarchies::discover(kMachineRoot, **mounts);
    ASSERT_TRUE(found) << found.error().message;
    hierarchies = std::move(*found);
  }
};

TEST_F(Machine, RootGroupOfEveryHierarchyExists) {
  const auto root = Group::open(*hierarchies, "");
  ASSERT_TRUE(root) << root.error().message;
  ASSERT_TRUE(*root);
  EXPECT_TRUE((*root)->alive());
  EXPECT_TRUE((*root)->has(File::kProcesses));
}

TEST_F(Machine, AGroupIsReadWhileItLivesAndGoneAfterwards) {
  OwnGroup own(*hierarchies);
  if (!own.complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
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
  if (!own.complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
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
  for (const File file :
       {File::kCpuShares, File::kCpuQuota, File::kCpuPeriod, File::kCpuBurst, File::kCpuIdle, File::kCpuBvt,
        File::kCpuQosLevel, File::kMemoryLimit, File::kMemoryMin, File::kMemoryHigh, File::kPidsLimit}) {
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

bool put_text(int fd, std::string_view text) {
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

constexpr std::string_view kLimit = "8388608";           // of the group below
constexpr std::size_t kMoreThanThat = 64 * 1024 * 1024;  // bytes that its process touches

// Runs as a process of its own, in the group whose cgroup.procs is `fd`; touches more memory than the group may have.
[[noreturn]] void exceed_memory(int fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a cgroup with a process cannot be removed
  if (!put_text(fd, "0")) ::_exit(1);
  void* memory = ::mmap(nullptr, kMoreThanThat, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(2);
  std::memset(memory, 1, kMoreThanThat);
  ::_exit(0);
}

// The whole way of a kill for want of memory: the group's own limit, the kernel's message about it, the group's
// counter.
TEST_F(Machine, OomKillIsInLogAndGroup) {
  const Folder proc = Folder::open("/proc").value();
  const auto machine = read_memory_info(proc, buffer);
  ASSERT_TRUE(machine) << machine.error().message;
  if (machine->swap_total.value_or(0) != 0) GTEST_SKIP() << "this machine swaps: a limit of memory kills no process";
  auto log = KernelLog::open("/dev/kmsg", KernelLog::From::kNow);
  if (!log) GTEST_SKIP() << log.error().message;
  OwnGroup own(*hierarchies);
  const auto opened = Group::open(*hierarchies, own.name());
  ASSERT_TRUE(opened) << opened.error().message;
  if (!*opened || !(*opened)->has(File::kMemoryLimit)) GTEST_SKIP() << "may not make a group with a limit of memory";
  const Group& group = **opened;
  {
    const auto limit = group.open_to_write(File::kMemoryLimit);
    ASSERT_TRUE(limit && *limit && put_text((*limit)->get(), kLimit));
  }
  EXPECT_EQ(read_value(group, File::kMemoryLimit, buffer).value(), 8'388'608);
  const Directory* memory = group.directory(Controller::kMemory);
  ASSERT_NE(memory, nullptr);
  const auto members = open_file(memory->fd.get(), "cgroup.procs", O_WRONLY, {});
  ASSERT_TRUE(members && *members);

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) exceed_memory((*members)->get());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;

  const auto events = read_memory_events(group, buffer);
  ASSERT_TRUE(events && *events);
  EXPECT_EQ((*events)->oom_kill, 1);
  EXPECT_GE((*events)->max.value(), 1);
  bool victim = false;
  for (;;) {  // the messages are there before the process is gone
    const auto message = log->next();
    ASSERT_TRUE(message) << message.error().message;
    if (!*message) break;
    const auto incident = classify_kernel_message((*message)->text);
    if (!incident || incident->pid != child) continue;
    if (incident->kind == KernelIncidentKind::kOomKill) {  // left out by the kernel after ten kills in five seconds
      EXPECT_TRUE(incident->group.ends_with("/" + own.name())) << incident->group;
      EXPECT_EQ(incident->limit_group, incident->group);
    }
    if (incident->kind == KernelIncidentKind::kOomKilled) victim = incident->anon_bytes.value_or(0) > 0;
  }
  EXPECT_TRUE(victim || log->lost() > 0);
}

TEST_F(Machine, GroupCountersExistOrGiveReason) {
  const auto root = Group::open(*hierarchies, "");
  ASSERT_TRUE(root && *root);
  const Directory* directory = (*root)->directory(Controller::kPerfEvent);
  if (!directory) GTEST_SKIP() << "no hierarchy for perf";
  MachineCpuTimes times;
  ASSERT_TRUE(read_cpu_times(Folder::open("/proc").value(), buffer, times));
  CpuSet cpus;
  for (const auto& one : times.each) cpus.add(one.cpu);
  constexpr PerfEvent kClock[] = {PerfEvent::kTaskClock};
  const auto clock = PerfCounters::open(*directory, cpus, kClock);
  if (clock) {
    const auto first = clock->read();
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_GE(first->values[0], 0);
  } else {
    EXPECT_TRUE(clock.error().kind == ErrorKind::kDenied || clock.error().kind == ErrorKind::kUnsupported)
        << clock.error().message;
  }
  constexpr PerfEvent kCpi[] = {PerfEvent::kCycles, PerfEvent::kInstructions};
  const auto cpi = PerfCounters::open(*directory, cpus, kCpi);
  if (!cpi)
    EXPECT_TRUE(cpi.error().kind == ErrorKind::kDenied || cpi.error().kind == ErrorKind::kUnsupported)
        << cpi.error().message;
}

TEST_F(Machine, WalksPodsOrNone) {
  const auto cpu = hierarchies->of(Controller::kCpu);
  if (!cpu) GTEST_SKIP() << "no hierarchy for cpu";
  const Place place{hierarchies->all()[*cpu].path, {}, {}};
  const auto driver = detect_driver(hierarchies->directory(*cpu), "/", place);
  ASSERT_TRUE(driver) << driver.error().message;
  const auto pods = walk_pods(hierarchies->directory(*cpu), Kubepods(driver->value_or(CgroupDriver::kCgroupfs)), place);
  EXPECT_TRUE(pods) << pods.error().message;
}

TEST_F(Machine, ReportsCreatedGroup) {
  const auto cpu = hierarchies->of(Controller::kCpu);
  if (!cpu) GTEST_SKIP() << "no hierarchy for cpu";
  OwnGroup own(*hierarchies);
  if (!own.complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
  const auto group = Group::open(*hierarchies, own.name());
  ASSERT_TRUE(group && *group);
  auto watch = FolderWatch::open();
  ASSERT_TRUE(watch) << watch.error().message;
  ASSERT_TRUE(watch->add(*(*group)->directory(Controller::kCpu), {}).value());
  ASSERT_TRUE(own.make_below("pod"));
  const auto made = watch->next();
  ASSERT_TRUE(made && *made);
  EXPECT_EQ((*made)->kind, FolderChangeKind::kMade);
  EXPECT_EQ((*made)->name, "pod");
  own.remove();
  const auto gone = watch->next();
  ASSERT_TRUE(gone && *gone);
  EXPECT_EQ((*gone)->kind, FolderChangeKind::kGone);
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
  for (const char* resource : {"pressure/cpu", "pressure/memory", "pressure/io", "pressure/irq"}) {
    const auto pressure = read_pressure(proc, resource, buffer);
    if (!pressure) EXPECT_EQ(pressure.error().kind, ErrorKind::kUnsupported) << pressure.error().message;
  }
}

TEST_F(Procfs, NumaNodesAreUnderstoodOrMissing) {
  const auto folder = Folder::open("/sys/devices/system/node");
  if (!folder) GTEST_SKIP() << folder.error().message;
  const auto nodes = read_numa_nodes(*folder, buffer);
  ASSERT_TRUE(nodes) << nodes.error().message;
  for (const NumaNode& node : *nodes) {
    const auto memory = read_numa_memory(*folder, node.id, buffer);
    ASSERT_TRUE(memory && *memory);
    EXPECT_LE((*memory)->used(), (*memory)->total);
  }
}

TEST_F(Procfs, EachProcessorHasItsPlace) {
  const auto cpus = Folder::open("/sys/devices/system/cpu");
  if (!cpus) GTEST_SKIP() << cpus.error().message;
  const auto nodes = Folder::open("/sys/devices/system/node");
  const auto found = read_topology(*cpus, nodes ? &*nodes : nullptr, buffer);
  ASSERT_TRUE(found) << found.error().message;
  CpuSet places, cores;
  for (const Processor& one : found->processors) places.add(one.cpu);
  for (const Processor& one : found->processors) cores.add(one.core);
  MachineCpuTimes times;
  ASSERT_TRUE(read_cpu_times(proc, buffer, times));
  EXPECT_EQ(found->processors.size(), times.each.size());
  for (const auto& one : times.each) EXPECT_TRUE(places.contains(one.cpu)) << one.cpu;
  EXPECT_TRUE((cores - places).empty()) << "a core is called like its first processor";
}

TEST_F(Procfs, ThisProcessIsUnderstood) {
  const auto queue = read_schedstat(proc, ::getpid(), buffer);
  ASSERT_TRUE(queue && *queue);
  EXPECT_GT(read_start_ticks(proc, ::getpid(), buffer).value(), 0);
}

TEST(OwnGroups, RemovesGroupsOfDeadTests) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  testing::Tree tree;
  testing::make_v1(tree);
  const std::string dead = "tidemark-test-" + std::to_string(child);
  const std::string with_a_file = dead + "/file", alive = "tidemark-test-" + std::to_string(::getppid());
  tree.folder("cpu/" + dead + "/low/lower");
  tree.folder("cpu/" + alive);
  for (const std::string left :
       {"tidemark-test-", "tidemark-test-1x", "tidemark-test-0", "tidemark-test--1", "tidemark"})
    tree.folder("cpu/" + left);
  tree.folder("memory/tidemark-test-" + std::to_string(::getpid()));
  tree.write("memory/" + with_a_file, "");
  testing::remove_left_groups(Hierarchies::discover(tree.root(), "").value());
  const auto is_there = [&](const std::string& path) { return std::filesystem::exists(tree.path(path)); };
  EXPECT_FALSE(is_there("cpu/" + dead));
  EXPECT_FALSE(is_there("memory/tidemark-test-" + std::to_string(::getpid())));
  EXPECT_TRUE(is_there("memory/" + with_a_file)) << "only what is empty";
  for (const std::string left :
       {alive.c_str(), "tidemark-test-", "tidemark-test-1x", "tidemark-test-0", "tidemark-test--1", "tidemark"})
    EXPECT_TRUE(is_there("cpu/" + left)) << left;
}

// The folder is called like the kernel's own headers (<linux/…>), and the root of the tree is searched first: a header
// of the same name here would take the place of the kernel's.
TEST(HeaderNames, NoneIsAlsoOneOfTheKernels) {
  const std::filesystem::path here = std::filesystem::path(base::testing::from_root("linux"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(here)) {
    if (entry.path().extension() != ".h") continue;
    const auto relative = std::filesystem::relative(entry.path(), here);
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path("/usr/include/linux") / relative)) << relative;
  }
}

}  // namespace
}  // namespace tidemark::linux

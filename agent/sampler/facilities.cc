#include "agent/sampler/facilities.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "linux/kmsg.h"
#include "linux/numa.h"
#include "linux/perf.h"
#include "linux/proc/cpu_times.h"
#include "linux/proc/process.h"
#include "linux/psi.h"

namespace tidemark::agent {
namespace {

using linux::File;

struct Answer {
  bool there = false;
  std::string why;
};

Answer from(const Error& error) {
  return {false, error.message};
}

// v1 has all its files in the root group too; v2 has many of them only below it.
Answer group_file(const linux::Hierarchies& hierarchies, File file) {
  const auto* home = hierarchies.home(file);
  const linux::FileNames& names = linux::names_of(file);
  if (!home) {
    return {false, base::cat("no mounted cgroup hierarchy has ", names.v1 ? names.v1 : names.v2)};
  }
  const linux::Hierarchy& hierarchy = hierarchies.all()[home->hierarchy];
  const std::string place = base::cat(home->name, " in ", hierarchy.path);
  if (home->version == linux::Version::kV1 && !linux::has_file(hierarchies.directory(home->hierarchy), home->name)) {
    return {false, base::cat("this kernel has no ", place)};
  }
  return {true, place};
}

Answer proc_file(const linux::Folder& proc, const char* name, linux::Buffer& buffer) {
  const auto text = proc.read_beginning(name, buffer);
  if (!text) return from(text.error());
  return {text->has_value(), base::cat(proc.path(), "/", name, *text ? "" : " is not there")};
}

Answer node_pressure(const linux::Folder& proc, linux::Buffer& buffer) {
  if (const auto read = linux::read_pressure(proc, "pressure/cpu", buffer); !read) return from(read.error());
  return {true, base::cat(proc.path(), "/pressure")};
}

Answer group_pressure(const FacilityPlaces& places, linux::Buffer& buffer) {
  const auto* home = places.hierarchies.home(File::kCpuPressure);
  if (!home) return {false, "no mounted cgroup hierarchy of version 2, which alone has the pressure of groups"};
  if (Answer node = node_pressure(places.proc, buffer); !node.there) return node;
  return {true, base::cat("groups in ", places.hierarchies.all()[home->hierarchy].path)};
}

Answer numa(const linux::Folder* nodes, linux::Buffer& buffer) {
  if (!nodes) return {false, "the kernel shows no NUMA nodes: it is one, with everything in it"};
  const auto read = linux::read_numa_nodes(*nodes, buffer);
  if (!read) return from(read.error());
  return {true, base::cat(read->size(), " in ", nodes->path())};
}

Answer cpi(const FacilityPlaces& places, linux::Buffer& buffer) {
  const auto hierarchy = places.hierarchies.of(linux::Controller::kPerfEvent);
  if (!hierarchy) return {false, "no mounted cgroup hierarchy that perf knows (perf_event, or version 2)"};
  linux::MachineCpuTimes times;
  if (const auto read = linux::read_cpu_times(places.proc, buffer, times); !read) return from(read.error());
  linux::CpuSet first;
  if (!times.each.empty() && times.each.front().cpu < linux::CpuSet::kCpusMax) first.add(times.each.front().cpu);
  auto root = linux::open_directory(places.hierarchies.all()[*hierarchy].path);
  if (!root) return from(root.error());
  if (!*root) return {false, "the hierarchy that perf knows is gone"};
  constexpr linux::PerfEvent kEvents[] = {linux::PerfEvent::kCycles, linux::PerfEvent::kInstructions};
  const auto counters = linux::PerfCounters::open(**root, first, kEvents);
  if (!counters) return from(counters.error());
  return {true, "cycles and instructions of groups"};
}

Answer kernel_log(const std::string& path) {
  const auto log = linux::KernelLog::open(path, linux::KernelLog::From::kNow);
  return log ? Answer{true, path} : from(log.error());
}

Answer ask(Facility facility, const FacilityPlaces& places, linux::Buffer& buffer) {
  switch (facility) {
    case Facility::kCpuUse:
      return group_file(places.hierarchies, File::kCpuUsage);
    case Facility::kThrottling:
      return group_file(places.hierarchies, File::kCpuThrottling);
    case Facility::kMemory:
      return group_file(places.hierarchies, File::kMemoryStat);
    case Facility::kMemoryEvents:
      return group_file(places.hierarchies, File::kMemoryEvents);
    case Facility::kGroupIo:
      return group_file(places.hierarchies, File::kIoBytes);
    case Facility::kGroupPressure:
      return group_pressure(places, buffer);
    case Facility::kNodePressure:
      return node_pressure(places.proc, buffer);
    case Facility::kRunQueue:
      return proc_file(places.proc, "self/schedstat", buffer);
    case Facility::kNuma:
      return numa(places.numa_nodes, buffer);
    case Facility::kCpi:
      return cpi(places, buffer);
    case Facility::kKernelLog:
      return kernel_log(places.kernel_log);
    case Facility::kHotPageCache:
      return {false, "no mainline kernel reports hot page cache"};
  }
  return {};
}

}  // namespace

std::string_view to_string(Facility facility) {
  switch (facility) {
    case Facility::kCpuUse:
      return "cpu use";
    case Facility::kThrottling:
      return "throttling";
    case Facility::kMemory:
      return "memory";
    case Facility::kMemoryEvents:
      return "memory events";
    case Facility::kGroupIo:
      return "group io";
    case Facility::kGroupPressure:
      return "group pressure";
    case Facility::kNodePressure:
      return "node pressure";
    case Facility::kRunQueue:
      return "run queue";
    case Facility::kNuma:
      return "numa";
    case Facility::kCpi:
      return "cpi";
    case Facility::kKernelLog:
      return "kernel log";
    case Facility::kHotPageCache:
      return "hot page cache";
  }
  return "unknown";
}

std::vector<FacilityReport> probe_facilities(const FacilityPlaces& places) {
  linux::Buffer buffer;
  std::vector<FacilityReport> out;
  for (std::size_t at = 0; at < kFacilities; ++at) {
    const auto facility = static_cast<Facility>(at);
    auto [there, why] = ask(facility, places, buffer);
    out.push_back({facility, there, std::move(why)});
  }
  return out;
}

bool is_read(Facility facility, const FeatureGates& gates) {
  return facility != Facility::kCpi || gates.enabled(kCpiGate);
}

bool is_there(const std::vector<FacilityReport>& reports, Facility facility) {
  const auto found = std::ranges::find(reports, facility, &FacilityReport::facility);
  return found != reports.end() && found->there;
}

}  // namespace tidemark::agent

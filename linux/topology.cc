#include "linux/topology.h"

#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "linux/numa.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kPrefix = "cpu";

template <class Parse>
auto read_parsed(const Folder& folder, const std::string& name, Buffer& buffer, Parse parse)
    -> Result<std::optional<typename decltype(parse(std::string_view()))::value_type>> {
  TM_TRY(const auto text, folder.read(name.c_str(), buffer));
  if (!text) return std::nullopt;
  auto value = parse(*text);
  if (!value) return fail(std::move(value).error().within(base::cat(folder.path(), "/", name)));
  return std::move(*value);
}

// Not there and -1 are the same answer.
Result<std::optional<int>> read_id(const Folder& cpus, int cpu, std::string_view name, Buffer& buffer) {
  TM_TRY(const auto id, read_parsed(cpus, base::cat(kPrefix, cpu, "/topology/", name), buffer, parse_topology_id));
  return id.value_or(std::nullopt);
}

// A kernel that cannot switch processors off has no list of those that are on.
Result<CpuSet> all_folders(const Folder& cpus) {
  std::vector<std::string> names;
  TM_TRY([[maybe_unused]] const bool there, list_folders(cpus.fd(), names, {cpus.path(), {}, {}}));
  CpuSet out;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    const auto cpu = parse_count(std::string_view(name).substr(kPrefix.size()));
    if (cpu && *cpu < CpuSet::kCpusMax) out.add(static_cast<int>(*cpu));
  }
  if (out.empty()) return fail(ErrorKind::kUnsupported, cpus.path(), " lists no processors");
  return out;
}

Result<CpuSet> online(const Folder& cpus, Buffer& buffer) {
  TM_TRY(const auto listed, read_parsed(cpus, "online", buffer, CpuSet::parse));
  if (listed && !listed->empty()) return *listed;
  return all_folders(cpus);
}

Result<std::vector<NumaNode>> nodes_or_none(const Folder* nodes, Buffer& buffer) {
  if (!nodes) return std::vector<NumaNode>{};
  auto read = read_numa_nodes(*nodes, buffer);
  if (!read && read.error().kind == ErrorKind::kUnsupported) return std::vector<NumaNode>{};
  return read;
}

}  // namespace

Result<std::optional<int>> parse_topology_id(std::string_view text) {
  const std::string_view word = without_line_end(text);
  if (word == "-1") return std::nullopt;
  const auto id = parse_count(word);
  if (id && *id <= std::numeric_limits<int>::max()) return static_cast<int>(*id);
  return fail(ErrorKind::kInvalid, "a number, or -1 for none, is wanted, found ", base::in_quotes(text));
}

Result<Topology> read_topology(const Folder& cpus, const Folder* nodes, Buffer& buffer) {
  TM_TRY(const CpuSet on, online(cpus, buffer));
  TM_TRY(const auto numa, nodes_or_none(nodes, buffer));
  Topology out;
  std::map<std::tuple<int, int, int>, int> cores;  // socket, die, core_id: the lowest processor
  for (int cpu = on.next(0); cpu >= 0; cpu = on.next(cpu + 1)) {
    TM_TRY(const auto core, read_id(cpus, cpu, "core_id", buffer));
    TM_TRY(const auto die, read_id(cpus, cpu, "die_id", buffer));
    TM_TRY(const auto socket, read_id(cpus, cpu, "physical_package_id", buffer));
    Processor one{cpu, cpu, socket.value_or(0), 0};
    if (core) one.core = cores.try_emplace({one.socket, die.value_or(0), *core}, cpu).first->second;
    if (!core) out.without_core.add(cpu);
    if (!socket) out.without_socket.add(cpu);
    bool has_node = false;
    for (const NumaNode& node : numa) {
      if (!node.cpus.contains(cpu)) continue;
      one.node = node.id;
      has_node = true;
    }
    if (!has_node) out.without_node.add(cpu);
    out.processors.push_back(one);
  }
  return out;
}

}  // namespace tidemark::linux

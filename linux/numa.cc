#include "linux/numa.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "base/text.h"
#include "linux/proc/memory_info.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kPrefix = "node";
constexpr int kNodesMax = 1024;

// "node3/meminfo", put together without allocating.
class NodeFile {
 public:
  NodeFile(int id, std::string_view name) {
    std::memcpy(path_.data(), kPrefix.data(), kPrefix.size());
    char* at = std::to_chars(path_.data() + kPrefix.size(), path_.data() + kPrefix.size() + kDigits, id).ptr;
    *at++ = '/';
    std::memcpy(at, name.data(), name.size());
    at[name.size()] = '\0';
  }
  const char* path() const { return path_.data(); }

 private:
  static constexpr std::size_t kDigits = 12;
  std::array<char, kPrefix.size() + kDigits + 16> path_;  // names of ours are shorter than 15
};

}  // namespace

Result<std::vector<NumaNode>> read_numa_nodes(const Folder& nodes, Buffer& buffer) {
  std::vector<NumaNode> out;
  std::vector<std::string> names;
  TM_TRY([[maybe_unused]] const bool there, list_folders(nodes.fd(), names, {nodes.path(), {}, {}}));
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    const auto id = parse_count(std::string_view(name).substr(kPrefix.size()));
    if (!id || *id >= kNodesMax) continue;
    const NodeFile file(static_cast<int>(*id), "cpulist");
    TM_TRY(const auto text, nodes.read(file.path(), buffer));
    if (!text) continue;  // taken off meanwhile
    auto cpus = CpuSet::parse(*text);
    if (!cpus) return fail(std::move(cpus).error().within(base::cat(nodes.path(), "/", file.path())));
    out.push_back({static_cast<int>(*id), *cpus});
  }
  if (out.empty())
    return fail(ErrorKind::kUnsupported, nodes.path(), " lists no nodes: this kernel was built without NUMA");
  std::ranges::sort(out, {}, &NumaNode::id);
  return out;
}

std::int64_t NumaMemory::used() const {
  std::int64_t left = total;
  for (const std::int64_t part : {free, active_file, inactive_file, reclaimable_slab}) left -= std::min(left, part);
  return left;
}

Result<NumaMemory> parse_numa_memory(std::string_view text) {
  std::optional<std::int64_t> total, free, active_file, inactive_file, reclaimable_slab;
  const Field fields[] = {{"MemTotal", &total},
                          {"MemFree", &free},
                          {"Active(file)", &active_file},
                          {"Inactive(file)", &inactive_file},
                          {"SReclaimable", &reclaimable_slab}};
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {  // "Node 0 MemTotal:       15821004 kB"
    std::string_view node, id, name;
    Words words(line);
    if (!words.next(node) || node != "Node" || !words.next(id) || !words.next(name) || !name.ends_with(':')) {
      return fail(ErrorKind::kInvalid, "a node, a name, a colon and a size are wanted, found ", base::in_quotes(line));
    }
    name.remove_suffix(1);
    for (const Field& field : fields) {
      if (field.name != name) continue;
      *field.value = parse_kib_as_bytes(words.rest());
      if (!*field.value) return fail(ErrorKind::kInvalid, "a size in kB is wanted, found ", base::in_quotes(line));
    }
  }
  if (!total || !free || !active_file || !inactive_file || !reclaimable_slab) {
    return fail(ErrorKind::kInvalid,
                "lines MemTotal, MemFree, Active(file), Inactive(file) and SReclaimable are wanted, found ",
                base::in_quotes(text));
  }
  for (const std::int64_t part : {*free, *active_file, *inactive_file, *reclaimable_slab}) {
    if (part > *total) return fail(ErrorKind::kInvalid, "a part of the memory of a node is larger than the node");
  }
  return NumaMemory{*total, *free, *active_file, *inactive_file, *reclaimable_slab};
}

Result<std::optional<NumaMemory>> read_numa_memory(const Folder& nodes, int id, Buffer& buffer) {
  const NodeFile file(id, "meminfo");
  TM_TRY(const auto text, nodes.read(file.path(), buffer));
  if (!text) return std::nullopt;
  auto memory = parse_numa_memory(*text);
  if (!memory) return fail(std::move(memory).error().within(base::cat(nodes.path(), "/", file.path())));
  return *memory;
}

}  // namespace tidemark::linux

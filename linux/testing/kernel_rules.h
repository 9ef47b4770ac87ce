// A folder that takes and refuses values as a kernel does, in the kernel's words: what the writers of groups are tested
// on where no kernel is at hand. The same suite runs on both (cgroup/write_test.cc).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/write.h"
#include "linux/cpu_set.h"
#include "linux/scan.h"

namespace tidemark::linux::testing {

class KernelRules final : public GroupWriter {
 public:
  // Each text that was taken, as "path/file=text", in the order of writing.
  std::vector<std::string> taken;
  int idle_refused = 0;  // != 0: no group turns idle, with this errno

  Result<std::optional<std::size_t>> put(const Group& group, File file, std::string_view text) override {
    if (!group.alive()) return std::nullopt;
    if (!group.has(file)) return fail(ErrorKind::kUnsupported, group.place(file).text(), " is not there");
    if (text.empty()) return 0;
    text = without_line_end(text);
    const Place place = group.place(file);
    const std::filesystem::path path = place.text();
    const Version version = *group.version(file);
    std::string shown(text);
    const bool refused = idle_refused != 0 && file == File::kCpuIdle && text == "1";
    if (const int error = refused ? idle_refused : check(path, place.folder, file, version, text, shown)) {
      return base::fail_errno(error, base::cat("write ", base::in_quotes(text), " to ", path.string()));
    }
    const bool turns = file == File::kCpuIdle && number(path) != base::parse_int(text);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << shown << "\n";
    if (turns) reset_weight(path.parent_path(), version, text == "1");
    taken.push_back(base::cat(place.group, "/", place.name, "=", text));
    return text.size();
  }

 private:
  using Path = std::filesystem::path;

  static std::optional<std::string> read(const Path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    return std::string(without_line_end(text));
  }
  static std::optional<std::int64_t> number(const Path& path) {
    const auto text = read(path);
    return text ? base::parse_int(*text) : std::nullopt;
  }
  static std::vector<Path> children(const Path& group) {
    std::vector<Path> out;
    for (const auto& entry : std::filesystem::directory_iterator(group)) {
      if (entry.is_directory()) out.push_back(entry.path());
    }
    return out;
  }

  // Turning idle, and turning back: the weight that was set before is lost either way.
  static void reset_weight(const Path& group, Version version, bool idle) {
    const Path weight = group / (version == Version::kV1 ? "cpu.shares" : "cpu.weight");
    if (!std::filesystem::exists(weight)) return;
    const bool v1 = version == Version::kV1;
    std::ofstream(weight, std::ios::binary | std::ios::trunc) << (idle ? (v1 ? 3 : 0) : (v1 ? 1024 : 100)) << "\n";
  }

  int check(const Path& path, const Path& hierarchy, File file, Version version, std::string_view text,
            std::string& shown) const {
    const Path group = path.parent_path();
    if (file == File::kCpusetCpus)
      return version == Version::kV1 ? check_cpuset_v1(group, hierarchy, text) : check_list(text);
    if (file == File::kCpusetMems) return check_list(text);
    if (file == File::kCpuQuota && version == Version::kV2) return check_cpu_max(path, text, shown);
    if (file == File::kCpuQuota) return check_quota_v1(group, hierarchy, text);
    if (file == File::kCpuBurst) return check_burst(group, version, text);
    if (file == File::kCpuShares) return check_shares(group, version, text, shown);
    if (file == File::kCpuIdle) return text == "0" || text == "1" ? 0 : EINVAL;
    if (file == File::kCpuBvt || file == File::kCpuQosLevel) return parse_value(file, version, text) ? 0 : EINVAL;
    if (file == File::kMemoryLimit) return check_memory_limit(group, version, text, shown);
    return parse_limit(text) ? 0 : EINVAL;
  }

  static int check_list(std::string_view text) { return CpuSet::parse(text) ? 0 : EINVAL; }

  // A child has no processors that its parent lacks, and no parent loses what a child has; a cgroup
  // with processes keeps at least one.
  static int check_cpuset_v1(const Path& group, const Path& hierarchy, std::string_view text) {
    const auto wanted = CpuSet::parse(text);
    if (!wanted) return EINVAL;
    if (wanted->empty() && !read(group / "cgroup.procs").value_or("").empty()) return ENOSPC;
    for (const Path& child : children(group)) {
      const auto has = CpuSet::parse(read(child / "cpuset.cpus").value_or(""));
      if (has && !(*has - *wanted).empty()) return EBUSY;
    }
    if (group == hierarchy) return EACCES;  // the root's are the machine's
    const auto parent = CpuSet::parse(read(group.parent_path() / "cpuset.cpus").value_or(""));
    return parent && (*wanted - *parent).empty() ? 0 : EACCES;
  }

  // v1: no child has a larger share of its period than the nearest group above it that has a quota.
  static int check_quota_v1(const Path& group, const Path& hierarchy, std::string_view text) {
    constexpr std::int64_t kQuotaMin = 1000;  // microseconds
    const auto wanted = base::parse_int(text);
    if (!wanted || (*wanted >= 0 && *wanted < kQuotaMin)) return EINVAL;
    if (group == hierarchy) return EINVAL;
    if (*wanted >= 0 && number(group / "cpu.cfs_burst_us").value_or(0) > *wanted) return EINVAL;
    std::optional<std::int64_t> above;
    for (Path at = group.parent_path(); at != hierarchy && !above; at = at.parent_path()) {
      const auto quota = number(at / "cpu.cfs_quota_us");
      if (quota && *quota >= 0) above = quota;
    }
    if (*wanted >= 0 && above && *wanted > *above) return EINVAL;
    return fits_below(group, *wanted >= 0 ? wanted : above) ? 0 : EINVAL;
  }
  static bool fits_below(const Path& group, std::optional<std::int64_t> most) {
    for (const Path& child : children(group)) {
      const auto quota = number(child / "cpu.cfs_quota_us");
      if (most && quota && *quota > *most) return false;
      if (!fits_below(child, quota && *quota >= 0 ? quota : most)) return false;
    }
    return true;
  }

  static int check_cpu_max(const Path& path, std::string_view text, std::string& shown) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const auto quota = parse_limit(text.substr(0, blank));
    if (!quota || (*quota >= 0 && *quota < 1000)) return EINVAL;
    if (*quota >= 0 && number(path.parent_path() / "cpu.max.burst").value_or(0) > *quota) return EINVAL;
    if (blank != text.size()) {  // with a period
      const auto period = parse_count(text.substr(blank + 1));
      return period && *period >= 1000 && *period <= 1'000'000 ? 0 : EINVAL;
    }
    const std::string before = read(path).value_or("max 100000");
    shown = base::cat(text, " ", before.substr(before.find(' ') + 1));
    return 0;
  }

  static int check_burst(const Path& group, Version version, std::string_view text) {
    const auto burst = parse_count(text);
    if (!burst) return EINVAL;
    const std::string shown = read(group / (version == Version::kV1 ? "cpu.cfs_quota_us" : "cpu.max")).value_or("-1");
    const auto quota = parse_limit(std::string_view(shown).substr(0, shown.find(' ')));
    return quota && *quota >= 0 && *burst > *quota ? EINVAL : 0;
  }

  // A group that is idle has no weight to set.
  static int check_shares(const Path& group, Version version, std::string_view text, std::string& shown) {
    const auto shares = parse_count(text);
    if (!shares) return EINVAL;
    if (version == Version::kV2 && (*shares < kWeightMin || *shares > kWeightMax)) return ERANGE;
    if (number(group / "cpu.idle").value_or(0) == 1) return EINVAL;
    if (version == Version::kV2) return 0;
    shown = base::cat(std::clamp(*shares, kSharesMin, kSharesMax));
    return 0;
  }

  // Whole pages; v1 refuses what is used already, v2 takes it and reclaims or kills.
  static int check_memory_limit(const Path& group, Version version, std::string_view text, std::string& shown) {
    static const std::int64_t page = ::sysconf(_SC_PAGESIZE);  // 4, 16 or 64 KiB on arm64
    const auto limit = parse_limit(text);
    if (!limit) return EINVAL;
    if (*limit == kUnlimited) {
      shown = version == Version::kV1 ? "9223372036854771712" : "max";
      return 0;
    }
    shown = base::cat(*limit / page * page);
    const auto usage = number(group / "memory.usage_in_bytes");
    return version == Version::kV1 && usage && *limit < *usage ? EBUSY : 0;
  }
};

}  // namespace tidemark::linux::testing

#include "linux/cgroup/cpu.h"

#include "base/text.h"
#include "linux/cgroup/reading.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::int64_t kNsPerUs = 1000;

}  // namespace

Result<std::int64_t> parse_cpu_usage_ns(std::string_view text, Version version) {
  if (version == Version::kV1) return parse_number_file(text);
  std::optional<std::int64_t> us;
  TM_TRY_VOID(parse_fields(text, {{"usage_usec", &us}}));
  const auto ns = us ? scaled(*us, kNsPerUs) : std::nullopt;
  if (!ns) return fail(ErrorKind::kInvalid, "a line usage_usec is wanted, found ", base::in_quotes(text));
  return *ns;
}

Result<std::optional<std::int64_t>> read_cpu_usage_ns(const Group& group, Buffer& buffer) {
  return read_parsed(group, File::kCpuUsage, buffer,
                     [&](std::string_view text) { return parse_cpu_usage_ns(text, *group.version(File::kCpuUsage)); });
}

Result<CpuThrottling> parse_cpu_throttling(std::string_view text, Version version) {
  std::optional<std::int64_t> periods, throttled, time;
  const bool v1 = version == Version::kV1;
  TM_TRY_VOID(parse_fields(
      text,
      {{"nr_periods", &periods}, {"nr_throttled", &throttled}, {v1 ? "throttled_time" : "throttled_usec", &time}}));
  if (!periods && !throttled && !time && !v1 && text.starts_with("usage_usec ")) {
    return fail(ErrorKind::kUnsupported, "it counts no throttling: the cpu controller is not enabled for the group");
  }
  if (time && !v1) time = scaled(*time, kNsPerUs);
  if (!periods || !throttled || !time) {
    return fail(ErrorKind::kInvalid, "lines nr_periods, nr_throttled and ", v1 ? "throttled_time" : "throttled_usec",
                " are wanted, found ", base::in_quotes(text));
  }
  return CpuThrottling{*periods, *throttled, *time};
}

Result<std::optional<CpuThrottling>> read_cpu_throttling(const Group& group, Buffer& buffer) {
  return read_parsed(group, File::kCpuThrottling, buffer, [&](std::string_view text) {
    return parse_cpu_throttling(text, *group.version(File::kCpuThrottling));
  });
}

Result<std::optional<CpuSet>> read_cpuset(const Group& group, File file, Buffer& buffer) {
  return read_parsed(group, file, buffer, CpuSet::parse);
}

}  // namespace tidemark::linux

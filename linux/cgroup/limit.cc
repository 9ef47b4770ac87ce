#include "linux/cgroup/limit.h"

#include <algorithm>

#include "base/text.h"
#include "linux/cgroup/reading.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

// v1 rounds "no limit" down to a page: 2^63 − 4096 here, 2^63 − 65536 with pages of 64 KiB.
constexpr std::int64_t kUnlimitedBytes = 0x7FFF'FFFF'FFFF'0000;

// Where −1 is a level like the others, and not "none".
struct Levels {
  std::int64_t least = 0, most = 0;
};
std::optional<Levels> levels_of(File file) {
  if (file == File::kCpuBvt) return Levels{-1, 2};
  // −1 and 0; kernels with five levels show −2..2.
  if (file == File::kCpuQosLevel) return Levels{-2, 2};
  return std::nullopt;
}

// "max 100000": the quota and the period of v2.
Result<std::int64_t> parse_cpu_max(std::string_view text, bool quota) {
  std::string_view first, second, extra;
  Words words(without_line_end(text));
  if (words.next(first) && words.next(second) && !words.next(extra)) {
    const auto period = parse_count(second);
    if (const auto limit = parse_limit(first); limit && period && *period > 0) return quota ? *limit : *period;
  }
  return fail(ErrorKind::kInvalid, "a quota or max, and a period are wanted, found ", base::in_quotes(text));
}

bool is_bytes(File file) {
  return file == File::kMemoryLimit || file == File::kMemoryMin || file == File::kMemoryLow ||
         file == File::kMemoryHigh;
}

}  // namespace

std::int64_t weight_of_shares(std::int64_t shares) {
  return kWeightMin + (std::clamp(shares, kSharesMin, kSharesMax) - kSharesMin) * (kWeightMax - kWeightMin) /
                          (kSharesMax - kSharesMin);
}

std::int64_t shares_of_weight(std::int64_t weight) {
  return kSharesMin + (std::clamp(weight, kWeightMin, kWeightMax) - kWeightMin) * (kSharesMax - kSharesMin) /
                          (kWeightMax - kWeightMin);
}

Result<std::int64_t> parse_limit(std::string_view text) {
  const std::string_view word = without_line_end(text);
  if (word == "max" || word == "-1") return kUnlimited;
  if (const auto value = parse_count(word)) return *value;
  return fail(ErrorKind::kInvalid, "a number, -1 or max is wanted, found ", base::in_quotes(text));
}

Result<std::int64_t> parse_value(File file, Version version, std::string_view text) {
  if (version == Version::kV2 && (file == File::kCpuQuota || file == File::kCpuPeriod)) {
    return parse_cpu_max(text, file == File::kCpuQuota);
  }
  if (const auto levels = levels_of(file)) {
    const auto value = base::parse_int(without_line_end(text));
    if (value && *value >= levels->least && *value <= levels->most) return *value;
    return fail(ErrorKind::kInvalid, "a number of ", levels->least, "..", levels->most, " is wanted, found ",
                base::in_quotes(text));
  }
  TM_TRY(const std::int64_t value, parse_limit(text));
  if (is_bytes(file) && value >= kUnlimitedBytes) return kUnlimited;
  if (file != File::kCpuShares) return value;
  if (value == kUnlimited) return fail(ErrorKind::kInvalid, "a weight is wanted, found ", base::in_quotes(text));
  return version == Version::kV2 ? shares_of_weight(value) : value;
}

Result<std::optional<std::int64_t>> read_value(const Group& group, File file, Buffer& buffer) {
  return read_parsed(group, file, buffer,
                     [&](std::string_view text) { return parse_value(file, *group.version(file), text); });
}

Result<std::string> value_text(File file, Version version, std::int64_t value) {
  if (const auto levels = levels_of(file)) {
    if (value < levels->least || value > levels->most) {
      return fail(ErrorKind::kInvalid, names_of(file).v1, " is ", levels->least, "..", levels->most, ", not ", value);
    }
    return base::cat(value);
  }
  if (value < kUnlimited)
    return fail(ErrorKind::kInvalid, "a limit is a number or ", kUnlimited, " for none, not ", value);
  if (file == File::kCpuShares) {
    if (value < kSharesMin || value > kSharesMax) {
      return fail(ErrorKind::kInvalid, "shares are ", kSharesMin, "..", kSharesMax, ", not ", value);
    }
    return base::cat(version == Version::kV2 ? weight_of_shares(value) : value);
  }
  if (version == Version::kV2 && file == File::kCpuPeriod) {
    return fail(ErrorKind::kUnsupported, "the period of cpu.max is left as it is found");
  }
  if (value != kUnlimited) return base::cat(value);
  if (version == Version::kV2) return std::string("max");
  // memory.min, low and high of kernels that carried them back to v1 have no -1.
  if (file == File::kMemoryMin || file == File::kMemoryLow || file == File::kMemoryHigh)
    return base::cat(kUnlimitedBytes);
  return std::string(file == File::kPidsLimit ? "max" : "-1");
}

}  // namespace tidemark::linux

#include "linux/proc/cpu_times.h"

#include <unistd.h>

#include <limits>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

// Eight counters of at most this many ticks (2 million years) have a sum that fits.
constexpr std::int64_t kTicksMax = std::numeric_limits<std::int64_t>::max() / 8;

std::unexpected<Error> refused(std::string_view line) {
  return fail(ErrorKind::kInvalid, "a processor and its times are wanted, found ", base::in_quotes(line));
}

bool parse_times(Words words, CpuTimes& out) {
  for (std::int64_t* wanted :
       {&out.user, &out.nice, &out.system, &out.idle, &out.iowait, &out.irq, &out.softirq, &out.steal}) {
    std::string_view word;
    const auto value = words.next(word) ? parse_count(word) : std::nullopt;
    if (!value || *value > kTicksMax) return false;
    *wanted = *value;
  }
  return true;
}

}  // namespace

Result<void> parse_cpu_times(std::string_view text, MachineCpuTimes& out) {
  constexpr std::string_view kCpu = "cpu";
  out.each.clear();
  bool found = false;
  Lines lines(text);
  // The processors come first; behind them are interrupts, a line that can be longer than all of these.
  for (std::string_view line; lines.next(line) && line.starts_with(kCpu);) {
    std::string_view name;
    Words words(line);
    words.next(name);
    if (name == kCpu) {
      if (!parse_times(words, out.all)) return refused(line);
      found = true;
      continue;
    }
    const auto cpu = parse_count(name.substr(kCpu.size()));
    MachineCpuTimes::One one;
    if (!cpu || *cpu > std::numeric_limits<int>::max() || !parse_times(words, one.times)) return refused(line);
    one.cpu = static_cast<int>(*cpu);
    out.each.push_back(one);
  }
  if (!found) return fail(ErrorKind::kInvalid, "a line cpu is wanted, found ", base::in_quotes(text));
  return {};
}

Result<void> read_cpu_times(const Folder& proc, Buffer& buffer, MachineCpuTimes& out) {
  TM_TRY(const auto text, proc.read_beginning("stat", buffer));
  if (!text) return fail(ErrorKind::kNotFound, proc.path(), "/stat is not there: is it the machine's /proc?");
  auto parsed = parse_cpu_times(*text, out);
  if (!parsed) return fail(std::move(parsed).error().within(base::cat(proc.path(), "/stat")));
  return parsed;
}

std::int64_t ticks_per_second() {
  return ::sysconf(_SC_CLK_TCK);
}

}  // namespace tidemark::linux

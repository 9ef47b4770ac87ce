#include "linux/cgroup/processes.h"

#include <limits>

#include "base/text.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/reading.h"
#include "linux/scan.h"

namespace tidemark::linux {

Result<void> parse_processes(std::string_view text, std::vector<pid_t>& out) {
  out.clear();
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const auto pid = parse_count(line);
    if (!pid || *pid > std::numeric_limits<pid_t>::max()) {
      return fail(ErrorKind::kInvalid, "a process number is wanted, found ", base::in_quotes(line));
    }
    if (*pid > 0) out.push_back(static_cast<pid_t>(*pid));
  }
  return {};
}

std::size_t foreign_processes(std::string_view text) {
  std::size_t count = 0;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) count += parse_count(line) == 0 ? 1 : 0;
  return count;
}

Result<bool> read_processes(const Group& group, File file, Buffer& buffer, std::vector<pid_t>& out) {
  out.clear();
  TM_TRY(const auto text, group.read(file, buffer));
  if (!text) return false;
  auto parsed = parse_processes(*text, out);
  if (!parsed) return fail(std::move(parsed).error().within(group.place(file).text()));
  return true;
}

}  // namespace tidemark::linux

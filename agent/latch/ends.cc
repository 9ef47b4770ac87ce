#include "agent/latch/ends.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "journal/whole_file.h"
#include "policy/state/permits.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kStartsBytesMax = 64 * 1024;
constexpr std::size_t kStartsKept = 16;

}  // namespace

Result<Ends> Ends::begin(const std::string& folder, base::BootTime now) {
  TM_TRY_VOID(journal::make_folder(folder));
  Ends ends(folder + "/starts");
  TM_TRY(const auto text, journal::read_whole(ends.path_, kStartsBytesMax));
  std::vector<std::int64_t> starts;
  for (std::string_view rest = text ? *text : std::string_view(); !rest.empty();) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) break;  // unfinished
    const auto at = base::parse_int(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    const base::Duration since = now.since_boot - std::chrono::milliseconds(at.value_or(0));
    if (at && since >= base::Duration(0) && since <= policy::state::kHoldWindow) starts.push_back(*at);
  }
  ends.unexpected_ = starts.size();
  if (starts.size() > kStartsKept) starts.erase(starts.begin(), starts.end() - kStartsKept);
  starts.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(now.since_boot).count());
  std::string lines;
  for (const std::int64_t each : starts) lines += base::cat(each, "\n");
  TM_TRY_VOID(journal::write_whole(ends.path_, lines));
  return ends;
}

Result<void> Ends::forget() const {
  TM_TRY_VOID(journal::remove_whole(path_));
  return {};
}

}  // namespace tidemark::agent

#include "model/isolation.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace tidemark::model {
namespace {

// "batchLimits: enforce (12 files)", also of an older or newer version: only such parts have one word before the colon
// and one after it.
bool is_of_strategy(std::string_view part) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto word = [&] {
    const std::size_t size = std::min(part.find_first_not_of(kLetters), part.size());
    part.remove_prefix(size);
    return size > 0;
  };
  if (!word() || !part.starts_with(": ")) return false;
  part.remove_prefix(2);
  return word() && (part.empty() || (part.starts_with(" (") && part.ends_with(")")));
}

// The first part of a message, which loses it.
std::string_view take_part(std::string_view& message) {
  const std::string_view part = message.substr(0, message.find(kIsolationBetween));
  message.remove_prefix(std::min(part.size() + kIsolationBetween.size(), message.size()));
  return part;
}

}  // namespace

bool is_isolation_reason(std::string_view reason) {
  constexpr std::string_view kReasons[] = {"PeerPresent", kUnable,     kOffLocally, "Off",    "Waiting",
                                           "Holding",     "Enforcing", "Observing", kNoGroups};
  return std::ranges::find(kReasons, reason) != std::end(kReasons);
}

bool says_nothing_in_force(std::string_view reason, std::string_view message) {
  constexpr std::string_view kNothingWritten[] = {"Off", kOffLocally, "Observing", "PeerPresent", kNoGroups};
  if (std::ranges::find(kNothingWritten, reason) == std::end(kNothingWritten)) return false;
  // Strategies come first: what follows them may be text written by users.
  while (!message.empty()) {
    const std::string_view part = take_part(message);
    if (!is_of_strategy(part)) return true;
    if (part.ends_with(" file)") || part.ends_with(" files)")) return false;
  }
  return true;
}

std::int64_t mark_read_by_agent(std::string_view message) {
  while (!message.empty()) {
    std::string_view part = take_part(message);
    if (is_of_strategy(part)) continue;
    if (!part.starts_with(kIsolationMark)) break;
    part.remove_prefix(kIsolationMark.size());
    return std::max<std::int64_t>(base::parse_int(part).value_or(0), 0);
  }
  return 0;
}

}  // namespace tidemark::model

#include "copilot/yarn_id.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::copilot {
namespace {

constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kAttemptDigits = 6;  // of an attempt's own name; containers have two

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<YarnId> parse_yarn_container(std::string_view name) {
  if (name.size() > kNameBytesMax) return std::nullopt;
  auto parts = base::split(name, '_');
  if (parts.size() == 6 && parts[1].starts_with('e') && is_number(parts[1].substr(1))) {
    parts.erase(parts.begin() + 1);
  }
  if (parts.size() != 5 || parts[0] != "container") return std::nullopt;
  if (!std::all_of(parts.begin() + 1, parts.end(), is_number)) return std::nullopt;
  const auto number = base::parse_int(parts[4]);
  if (!number) return std::nullopt;
  std::string attempt(parts[3]);
  if (attempt.size() < kAttemptDigits) attempt.insert(0, kAttemptDigits - attempt.size(), '0');
  return YarnId{base::cat("application_", parts[1], "_", parts[2]),
                base::cat("appattempt_", parts[1], "_", parts[2], "_", attempt), *number};
}

}  // namespace tidemark::copilot

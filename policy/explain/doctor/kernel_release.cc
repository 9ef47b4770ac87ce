#include "policy/explain/doctor/kernel_release.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace tidemark::policy::explain {
namespace {

constexpr std::array<std::string_view, 2> kAnolis = {"an", "al"};
constexpr std::array<std::string_view, 1> kOpenEuler = {"oe"};

// Removes a number from the front.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

// "an8", not "android".
bool names_one_of(std::span<const std::string_view> makers, std::string_view part) {
  return std::ranges::any_of(makers, [&](std::string_view maker) {
    return part.size() > maker.size() && part.starts_with(maker) && part[maker.size()] >= '0' &&
           part[maker.size()] <= '9';
  });
}

}  // namespace

std::optional<KernelRelease> parse_kernel_release(std::string_view text) {
  KernelRelease out;
  const auto major = take_number(text);
  if (!major || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  const auto minor = take_number(text);
  if (!minor) return std::nullopt;
  out.major = *major;
  out.minor = *minor;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(".-_+"), text.size());
    const std::string_view part = text.substr(0, end);
    if (names_one_of(kAnolis, part)) out.of_anolis = true;
    if (out.of_anolis || names_one_of(kOpenEuler, part)) out.own_priority = true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::optional<std::int64_t> kubernetes_minor(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  return take_number(version);
}

}  // namespace tidemark::policy::explain

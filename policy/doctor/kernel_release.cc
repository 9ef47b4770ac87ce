#include "policy/doctor/kernel_release.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tidemark::policy {
namespace {

constexpr std::array<std::string_view, 3> kMakers = {"an", "al", "oe"};

// Takes a number off the front.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

// "an8", not "android".
bool names_maker(std::string_view part) {
  return std::ranges::any_of(kMakers, [&](std::string_view maker) {
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
    if (names_maker(text.substr(0, end))) out.own_priority = true;
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

}  // namespace tidemark::policy

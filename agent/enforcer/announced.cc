// Takes over values that the reaction writes between two calls of the enforcer. The enforcer's rules hold: a value is
// in the journal before it is in the kernel, and replaces only a value of ours.
#include <algorithm>

#include "agent/enforcer/enforcer.h"
#include "base/check.h"

namespace tidemark::agent {
namespace {

// v2 shows the period after the quota.
std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

}  // namespace

const Enforcer::HeldFile* Enforcer::ours(std::string_view path, linux::File file) const {
  const auto group = groups_.find(path);
  if (group == groups_.end()) return nullptr;
  const auto held = std::ranges::find(group->second.files, file, &HeldFile::file);
  const bool stands = held != group->second.files.end() && held->id != 0 && held->ours && held->stands &&
                      !held->refused && !held->contest.standing_back;
  return stands ? &*held : nullptr;
}

std::optional<std::string_view> Enforcer::value_in_force(std::string_view group, linux::File file) const {
  const HeldFile* held = ours(group, file);
  return held == nullptr ? std::nullopt : std::optional(first_word(*held->stands));
}

Result<void> Enforcer::announce(std::string_view group, linux::File file, std::span<const std::string> texts) {
  const HeldFile* held = ours(group, file);
  TM_CHECK(held != nullptr, "a file in which a value of ours stands");
  const auto& known = journal_.files().at(held->id).written;
  const auto is_known = [&](const std::string& text) { return std::ranges::find(known, text) != known.end(); };
  if (std::ranges::all_of(texts, is_known)) return {};
  std::vector<FoundJournal::Coming> coming;
  for (const std::string& text : texts) coming.push_back({held->id, text});
  // The journal keeps only the newest values, and the value in force must be one of them.
  coming.push_back({held->id, *held->stands});
  return journal_.will_write(coming);
}

void Enforcer::wrote(std::string_view path, linux::File file, const std::string& text, std::int64_t value,
                     const std::vector<std::int32_t>& cpus) {
  const auto group = groups_.find(path);
  HeldFile* held = group == groups_.end() ? nullptr : find(group->second, file);
  if (held == nullptr || held->id == 0) return;
  held->ours = true;
  held->stands = text;
  held->value = value;
  held->cpus = cpus;
  held->next_look = clock_.monotonic() + kLookInterval;
}

}  // namespace tidemark::agent

// A revision: the texts of all settings as they were in force at one time, under a hash of them. The last few are kept,
// for nodes that still run one and for `tidemark undo config`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace tidemark::policy::settings {

inline constexpr std::size_t kRevisionsMax = 10;
// Of all revisions together, as they are stored: a ConfigMap takes 1 MiB.
inline constexpr std::size_t kRevisionBytesMax = 768 * 1024;

struct SettingsTexts {
  std::map<std::string, std::string> slo;  // of slo-controller-config, key by key; a key that is missing is not here
  std::optional<std::string> tidemark;     // of tidemark-config; nullopt: does not exist
  bool operator==(const SettingsTexts&) const = default;
};

// The same texts give the same hash in every replica and version. 16 hex digits.
std::string hash_of(const SettingsTexts& texts);

// True if `to` is `from` with `enable` of colocation-config set to false, and no other change. False if either cannot
// be read.
bool only_switches_off(const SettingsTexts& from, const SettingsTexts& to);

struct StoredRevision {
  std::int64_t number = 0;  // counts up; a revision that returns gets a new one
  std::string hash;
  base::WallTime taken;
  bool completed = false;  // it was in force on every node
  SettingsTexts texts;
  bool operator==(const StoredRevision&) const = default;
};

using RevisionBook = std::vector<StoredRevision>;  // by ascending number

const StoredRevision* find_revision(const RevisionBook& book, std::string_view hash);
const StoredRevision* find_revision(const RevisionBook& book, std::int64_t number);

std::size_t stored_bytes(const StoredRevision& revision);

// Whether `texts` fit beside the revisions that are needed.
bool fits(const RevisionBook& book, const SettingsTexts& texts, std::span<const std::string> needed);

// Adds these texts as the newest revision. If there is no room, the oldest ones are dropped, but never those that are
// `needed` (in force on some node) nor the newest. One that is too large alone is not stored.
RevisionBook with_revision(RevisionBook book, const SettingsTexts& texts, std::span<const std::string> needed,
                           base::WallTime now);

}  // namespace tidemark::policy::settings

// Original values of the kernel's files: those that an earlier process recorded in the journal, and those that this
// process reads before its first write.
#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/enforcer/enforcer.h"

namespace tidemark::agent {
namespace {

using linux::File;
using model::Reason;

std::optional<linux::Identity> identity_of(const linux::Hierarchies& hierarchies, const linux::Group& group,
                                           File file) {
  const auto* directory = directory_of(hierarchies, group, file);
  return directory == nullptr ? std::nullopt : std::optional(directory->identity);
}

}  // namespace

// Recalls what an earlier process left, weights last: those of idle groups are hidden.
Enforcer::Enforcer(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer, FoundJournal& journal,
                   const base::Clock& clock)
    : hierarchies_(hierarchies), writer_(writer), journal_(journal), clock_(clock) {
  std::vector<std::uint32_t> left;
  for (const bool weights : {false, true}) {
    for (const auto& [id, file] : journal_.files()) {
      if ((file.file == File::kCpuShares) == weights) left.push_back(id);
    }
  }
  recall(left);
  if (journal_.over(over_)) over_.clear();
}

void Enforcer::recall(const std::vector<std::uint32_t>& ids) {
  for (const std::uint32_t id : ids) {
    const FoundFile& left = journal_.files().at(id);
    auto held = recall(id, left);
    if (!held) {
      unread_.push_back(id);
      // Reported once; each pass tries again.
      if (turn_ == 0) {
        tell(left.group, left.file, left.strategy, "", "", Reason::kKnobRefused, std::move(held).error());
      }
    } else if (!*held) {
      over_.push_back(id);
    }
  }
}

// A value that is neither ours nor the original one belongs to another writer.
Result<bool> Enforcer::recall(std::uint32_t id, const FoundFile& left) {
  if (left.written.empty()) return false;
  if (left.file == File::kCpuShares && is_unread(left.group, File::kCpuIdle)) {
    return fail(ErrorKind::kUnavailable, left.group, ": cannot read whether it is idle, which hides its weight");
  }
  HeldGroup& group = groups_[left.group];
  TM_TRY(const bool there, open(left.group, group));
  if (!there) return false;
  TM_TRY(const auto now, look(*group.group, left.file));
  const auto version = group.group->version(left.file);
  if (!now || !version || identity_of(hierarchies_, *group.group, left.file) != left.identity) return false;
  const auto says = [&](const std::string& text) { return linux::same_value(left.file, *version, *now, text); };
  const bool hidden = left.file == File::kCpuShares && weight_is_hidden(group);
  if (!hidden && std::ranges::none_of(left.written, says)) {
    if (says(left.found)) return false;
    tell(left.group, left.file, left.strategy, *now, "", Reason::kAgentNotOurs);
    return false;
  }
  HeldFile& file = held(group, left.file);
  file.strategy = left.strategy;
  file.id = id;
  file.ours = true;
  file.stands = *now;
  file.made_with = left.found;
  return true;
}

// Whether the journal has the file from an earlier process and it could not be read yet.
bool Enforcer::is_unread(std::string_view path, File file) const {
  return std::ranges::any_of(unread_, [&](std::uint32_t id) {
    const FoundFile& left = journal_.files().at(id);
    return left.file == file && left.group == path;
  });
}

// A v1 group inherits the CPU set of its parent at creation. If we narrowed the parent, the original value of the child
// is that of the parent.
std::string Enforcer::before_ours(std::string_view path, File file, linux::Version version, std::string found) {
  if (file != File::kCpusetCpus) return found;
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return found;
  const auto parent = groups_.find(path.substr(0, slash));
  if (parent == groups_.end()) return found;
  const HeldFile* above = find(parent->second, file);
  if (above == nullptr || above->id == 0) return found;
  const FoundFile& known = journal_.files().at(above->id);
  const auto is_found = [&](const std::string& text) { return linux::same_value(file, version, text, found); };
  // If it was first seen in this pass, nothing was written yet; its inherited set is not its own either.
  const bool as_made = known.written.empty() && above->stands && is_found(*above->stands);
  return as_made || std::ranges::any_of(known.written, is_found) ? known.found : found;
}

// Before the first write: records the original value in the journal. False: nothing may be written.
bool Enforcer::find_out(const std::string& path, HeldGroup& group, HeldFile& file) {
  if (file.id != 0) return true;
  if (is_unread(path, file.file)) return false;  // the value may be ours
  const auto identity = identity_of(hierarchies_, *group.group, file.file);
  const auto version = group.group->version(file.file);
  auto found = read(*group.group, file.file);
  if (!identity || !version || !found) return false;
  file.made_with = before_ours(path, file.file, *version, *found);
  auto id = journal_.add({path, file.file, *identity, file.strategy, file.made_with, {}});
  if (!id) {
    enforced_.journal = std::move(id).error();
    return false;
  }
  file.id = *id;
  file.stands = std::move(*found);
  return true;
}

}  // namespace tidemark::agent

#include "linux/probe_group.h"

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/text.h"
#include "linux/knob_probe.h"
#include "linux/proc/process.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

std::string life_text(std::int64_t pid, std::int64_t start) {
  return base::cat(pid, "-", start);
}

Controller controller_of(File file, Version version) {
  return version == Version::kV1 ? names_of(file).v1_controller : names_of(file).v2_controller;
}

}  // namespace

Result<std::string> own_life(const Folder& proc, Buffer& buffer) {
  TM_TRY(const auto text, proc.read("self/stat", buffer));
  std::string_view word;
  const auto pid = text && Words(*text).next(word) ? parse_count(word) : std::nullopt;
  if (!pid) return fail(ErrorKind::kInvalid, "the number of this process is wanted in ", proc.path(), "/self/stat");
  TM_TRY(const std::int64_t start, parse_start_ticks(*text));
  return life_text(*pid, start);
}

ProbeGroup::ProbeGroup(const Hierarchies& hierarchies, const Group& parent, const Folder& proc, ProbeRim& rim,
                       std::string_view life, std::string_view suffix)
    : hierarchies_(hierarchies),
      parent_(parent),
      proc_(proc),
      rim_(rim),
      life_(life),
      name_(base::cat(kProbePrefix, life, suffix)) {}

std::string ProbeGroup::path() const {
  return parent_.path().empty() ? name_ : base::cat(parent_.path(), "/", name_);
}

void ProbeGroup::make(std::span<const File> files, Buffer& buffer) {
  for (const File file : files) {
    const auto* home = hierarchies_.home(file);
    if (!home || tried_[home->hierarchy]) continue;
    tried_[home->hierarchy] = true;
    if (auto made = make_in(home->hierarchy, controller_of(file, home->version), buffer); !made)
      why_not_[home->hierarchy] = std::move(made).error();
  }
}

const Error* ProbeGroup::why_not(File file) const {
  const auto* home = hierarchies_.home(file);
  return home && why_not_[home->hierarchy] ? &*why_not_[home->hierarchy] : nullptr;
}

const Error* ProbeGroup::any_error() const {
  const auto first = std::ranges::find_if(why_not_, [](const auto& one) { return one.has_value(); });
  return first == why_not_.end() ? nullptr : &**first;
}

std::string ProbeGroup::remove() {
  std::string left;
  for (const Made& one : made_) {
    if (const auto done = rim_.remove_group(one.directory, name_, place(one.hierarchy)); !done)
      left += base::cat(left.empty() ? "" : "; ", done.error().message);
  }
  made_.clear();
  return left;
}

Result<void> ProbeGroup::make_in(std::size_t hierarchy, Controller controller, Buffer& buffer) {
  const Place above{mount(hierarchy), parent_.path(), {}};
  const Directory* directory = parent_.directory(controller);
  if (!directory) return fail(ErrorKind::kNotFound, above.text(), " is not there: no group can be made below it");
  std::vector<std::string> names;
  TM_TRY([[maybe_unused]] const bool there, list_folders(directory->fd.get(), names, above));
  for (const std::string& name : names) {
    if (!is_left(name, buffer)) continue;
    // A non-empty one is not ours to empty; it is reported if it has our own name.
    [[maybe_unused]] const auto removed =
        rim_.remove_group(directory->fd.get(), name, {mount(hierarchy), parent_.path(), name});
  }
  TM_TRY_VOID(rim_.make_group(directory->fd.get(), name_, place(hierarchy)));
  made_.push_back({hierarchy, directory->fd.get()});
  return {};
}

// Whether the name is that of a probe whose process has ended. For this process only its own name counts: another group
// of this probe may be in use.
bool ProbeGroup::is_left(std::string_view name, Buffer& buffer) const {
  if (!name.starts_with(kProbePrefix)) return false;
  std::string_view life = name.substr(kProbePrefix.size());
  if (life.ends_with(kBesideSuffix)) life.remove_suffix(kBesideSuffix.size());
  if (life == life_) return name == name_;
  const std::size_t dash = std::min(life.find('-'), life.size());
  const auto pid = parse_count(life.substr(0, dash));
  if (!pid || *pid > std::numeric_limits<pid_t>::max() || dash == life.size()) return false;
  const auto start = read_start_ticks(proc_, static_cast<pid_t>(*pid), buffer);
  return start && (!*start || life_text(*pid, **start) != life);
}

}  // namespace tidemark::linux

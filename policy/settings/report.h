// Collects the problems that the checks find. Internal to the checks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/settings/check.h"

namespace tidemark::policy::settings {

class SettingsReport {
 public:
  SettingsReport(SettingsVerdict& verdict, model::Profile parity) : verdict_(verdict), parity_(parity) {}

  model::Profile parity() const { return parity_; }
  void key(std::string_view name) { key_ = name; }
  std::string_view key() const { return key_; }

  void error(model::Reason reason, std::string place, std::string found, std::string allowed) {
    add(verdict_.errors, reason, std::move(place), std::move(found), std::move(allowed));
  }
  void warn(model::Reason reason, std::string place, std::string found, std::string allowed) {
    add(verdict_.warnings, reason, std::move(place), std::move(found), std::move(allowed));
  }
  // A problem that Koordinator accepts: a warning with its parity, an error with ours.
  void ours(model::Reason reason, std::string place, std::string found, std::string allowed) {
    if (parity_ == model::Profile::kTidemark)
      return error(reason, std::move(place), std::move(found), std::move(allowed));
    warn(reason, std::move(place), std::move(found), std::move(allowed));
  }
  void conflict(StrategyConflict conflict, std::string found, std::string allowed) {
    const model::Reason reason = conflict.reason;
    if (verdict_.errors.empty()) verdict_.conflict = std::move(conflict);
    error(reason, "", std::move(found), std::move(allowed));
  }
  std::size_t errors() const { return verdict_.errors.size(); }
  // A text that cannot be decoded is that before anything else: of the errors from `from` on.
  void unreadable_first(std::size_t from) {
    std::vector<SettingsProblem> tail(verdict_.errors.begin() + static_cast<std::ptrdiff_t>(from),
                                      verdict_.errors.end());
    verdict_.errors.resize(from);
    for (const bool unreadable : {true, false}) {
      for (const SettingsProblem& each : tail) {
        if ((each.reason == model::Reason::kSettingsUnreadable) == unreadable) verdict_.errors.push_back(each);
      }
    }
  }

 private:
  void add(std::vector<SettingsProblem>& list, model::Reason reason, std::string place, std::string found,
           std::string allowed) {
    if (list.size() >= kSettingsProblemsMax) {
      ++verdict_.left_off;
      return;
    }
    list.push_back({reason, std::string(key_), std::move(place), std::move(found), std::move(allowed)});
  }

  SettingsVerdict& verdict_;
  model::Profile parity_;
  std::string_view key_;
};

}  // namespace tidemark::policy::settings

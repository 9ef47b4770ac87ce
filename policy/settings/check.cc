#include "policy/settings/check.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"
#include "policy/settings/fields.h"
#include "policy/settings/network.h"
#include "policy/settings/report.h"
#include "policy/settings/selectors.h"
#include "policy/settings/walk.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using model::Reason;

constexpr std::string_view kQosKey = "resource-qos-config";
constexpr std::string_view kSystemKey = "system-config";
constexpr std::string_view kColocationKey = "colocation-config";
constexpr std::string_view kHostKey = "host-application-config";
constexpr std::array<std::string_view, 2> kEntryMembers{"name", "nodeSelector"};
constexpr std::array<std::string_view, 1> kFlatMembers{"nodeConfigs"};

std::string_view text_of(std::span<const SettingsKey> keys, std::string_view name) {
  const auto at = std::find_if(keys.begin(), keys.end(), [&](const SettingsKey& key) { return key.name == name; });
  return at == keys.end() ? std::string_view() : at->text;
}

// nullopt after an error of the report.
std::optional<Json> parse_object(std::string_view text, SettingsReport& report) {
  constexpr std::string_view kWanted = "a JSON object";
  if (text.size() > kSettingsTextMax) {
    report.error(Reason::kSettingsUnreadable, "", cat(text.size(), " bytes"),
                 cat("at most ", kSettingsTextMax, " bytes"));
    return std::nullopt;
  }
  auto parsed = Json::parse(text);
  if (!parsed) {
    report.error(Reason::kSettingsUnreadable, "", parsed.error().message, std::string(kWanted));
    return std::nullopt;
  }
  if (!parsed->is_object()) {
    report.error(Reason::kSettingsUnreadable, "", settings_shown(*parsed), std::string(kWanted));
    return std::nullopt;
  }
  return std::move(*parsed);
}

class DocumentCheck {
 public:
  DocumentCheck(const SettingsDocument& document, const SettingsEdit& edit, SettingsReport& report)
      : document_(document), edit_(edit), report_(report) {}

  void run(std::string_view text) {
    report_.key(document_.key);
    auto parsed = parse_object(text, report_);
    if (!parsed) return;
    const std::size_t errors = report_.errors();
    read(*parsed);
    if (document_.key == kQosKey) network(*parsed);
    names();
    if (report_.errors() == errors) check_overlap(entries_, report_);
    suspect(*parsed);
    report_.unreadable_first(errors);
    // Partly unreadable settings are not compared with nodes: that would report false conflicts.
    if (report_.errors() != errors) entries_.clear();
  }

  void nodes() {
    report_.key(document_.key);
    check_nodes(entries_, edit_.nodes, report_);
  }

 private:
  std::string_view list_name() const { return document_.nested ? "nodeStrategies" : "nodeConfigs"; }

  void read(const Json& object) {
    if (!document_.nested) {
      walk_settings(object, *document_.strategy, "", kFlatMembers, report_);
    } else {
      // The only two valid members; others are a mistake.
      const std::array<SettingsField, 2> members{SettingsField{.name = "clusterStrategy"},
                                                 SettingsField{.name = "nodeStrategies"}};
      walk_settings(object, SettingsShape{.fields = members}, "", {}, report_);
      if (const Json* cluster = settings_member(object, "clusterStrategy")) {
        strategy(*cluster, "clusterStrategy", {});
      }
    }
    if (document_.key == kHostKey) applications(object, "");
    const Json* list = settings_member(object, list_name());
    if (list == nullptr) return;
    if (!list->is_array()) {
      return report_.error(Reason::kSettingsUnreadable, std::string(list_name()), settings_shown(*list),
                           "an array of objects");
    }
    if (list->as_array().size() > kSettingsStrategiesMax) {
      return report_.error(Reason::kSettingsInvalid, std::string(list_name()),
                           cat(list->as_array().size(), " node strategies"),
                           cat("at most ", kSettingsStrategiesMax, ": use one strategy for equal nodes"));
    }
    for (std::size_t i = 0; i < list->as_array().size(); ++i) {
      entry(list->as_array()[i], cat(list_name(), "[", i, "]"));
    }
  }

  void strategy(const Json& value, const std::string& place, std::span<const std::string_view> also) {
    if (!value.is_object()) {
      return report_.error(Reason::kSettingsUnreadable, place, settings_shown(value), "an object");
    }
    walk_settings(value, *document_.strategy, place, also, report_);
  }

  void entry(const Json& value, const std::string& place) {
    NodeStrategyEntry entry;
    entry.place = place;
    strategy(value, place, kEntryMembers);
    if (!value.is_object()) return;
    if (const Json* name = settings_member(value, "name")) {
      if (name->is_string()) {
        entry.name = name->as_string();
      } else {
        report_.error(Reason::kSettingsUnreadable, place + ".name", settings_shown(*name), "a string");
      }
    }
    if (document_.key == kHostKey) applications(value, place);
    if (!read_selector(settings_member(value, "nodeSelector"), place + ".nodeSelector", entry)) return;
    entries_.push_back(std::move(entry));
  }

  bool read_selector(const Json* value, const std::string& place, NodeStrategyEntry& entry) {
    constexpr std::string_view kWanted = "matchLabels or matchExpressions: they select the nodes of the strategy";
    if (value == nullptr) {
      report_.error(Reason::kSettingsInvalid, place, "nothing", std::string(kWanted));
      return false;
    }
    auto read = model::LabelSelector::from_json(*value);
    if (!read) {
      report_.error(Reason::kSettingsUnreadable, place, read.error().message, "a label selector");
      return false;
    }
    if (read->problem()) {
      report_.error(Reason::kSettingsInvalid, place, read->problem()->message, "a label selector that can be used");
      return false;
    }
    if (read->empty()) {
      report_.error(Reason::kSettingsInvalid, place, "an empty selector", std::string(kWanted));
      return false;
    }
    entry.selector_json = *value;
    entry.selector = std::move(*read);
    return true;
  }

  void names() {
    std::set<std::string_view> seen;
    for (const NodeStrategyEntry& entry : entries_) {
      const bool again = !entry.name.empty() && !seen.insert(entry.name).second;
      if (!edit_.names_needed) {
        if (again)
          report_.warn(Reason::kSettingsSuspect, entry.place + ".name", base::in_quotes(entry.name), "a unique name");
        continue;
      }
      if (entry.name.empty()) report_.error(Reason::kSettingsInvalid, entry.place + ".name", "nothing", "a name");
      if (again)
        report_.error(Reason::kSettingsInvalid, entry.place + ".name", base::in_quotes(entry.name), "a unique name");
    }
  }

  void network(const Json& qos) {
    Json system = Json::object();
    const std::string_view text = text_of(edit_.after, kSystemKey);
    if (edit_.parity == model::Profile::kKoordinator || !text.empty()) {
      // Trap: Koordinator reads system-config here too, and treats a missing one as broken.
      auto parsed = Json::parse(text);
      if (!parsed || !parsed->is_object()) {
        return report_.error(
            Reason::kSettingsUnreadable, "",
            text.empty() ? "no system-config beside it" : "an unreadable system-config",
            "a JSON object under system-config, which the network bandwidth is compared with: {} is enough");
      }
      system = std::move(*parsed);
    }
    check_network(qos, system, report_);
  }

  void applications(const Json& object, const std::string& place) {
    const Json* list = settings_member(object, "applications");
    if (list == nullptr || !list->is_array()) return;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list->as_array().size(); ++i) {
      const Json& each = list->as_array()[i];
      const std::string at = cat(settings_place(place, "applications"), "[", i, "]");
      const Json* name = settings_member(each, "name");
      const std::string_view text = name == nullptr ? "" : name->get_string().value_or("");
      if (text.empty()) {
        report_.error(Reason::kSettingsInvalid, at + ".name", "nothing", "a name: the agent reports use under it");
      } else if (!seen.insert(std::string(text)).second) {
        report_.error(Reason::kSettingsInvalid, at + ".name", base::in_quotes(text), "a unique name");
      }
      const Json* path = settings_member(each, "cgroupPath");
      for (const auto member : {"parentDir", "relativePath"}) {
        const Json* part = path == nullptr ? nullptr : settings_member(*path, member);
        if (part == nullptr || !part->is_string()) continue;
        const auto steps = base::split(part->as_string(), '/');
        if (std::find(steps.begin(), steps.end(), "..") == steps.end()) continue;
        report_.error(Reason::kSettingsInvalid, cat(at, ".cgroupPath.", member), base::in_quotes(part->as_string()),
                      "a path below its base, without \"..\"");
      }
    }
  }

  // Values in range with a surprising effect.
  void suspect(const Json& object) {
    if (document_.key != kColocationKey) return;
    const auto on = [](const Json& strategy) {
      const Json* enable = settings_member(strategy, "enable");
      return enable != nullptr && enable->get_bool() == true;
    };
    const auto margins = [&](const Json& strategy, const std::string& place) {
      for (const auto name : {"cpuReclaimThresholdPercent", "memoryReclaimThresholdPercent"}) {
        const Json* value = settings_member(strategy, name);
        if (value == nullptr || value->get_int().value_or(0) <= 100) continue;
        report_.warn(Reason::kSettingsSuspect, settings_place(place, name), value->dump(),
                     "100 or less: more would sell beyond the capacity of the node");
      }
    };
    margins(object, "");
    const Json* list = settings_member(object, "nodeConfigs");
    if (list == nullptr || !list->is_array()) return;
    for (std::size_t i = 0; i < list->as_array().size(); ++i) {
      const std::string place = cat("nodeConfigs[", i, "]");
      margins(list->as_array()[i], place);
      if (on(list->as_array()[i]) && !on(object)) {
        report_.warn(Reason::kSettingsSuspect, place + ".enable", "true",
                     "enable at the top level as well: an entry alone has no effect");
      }
    }
  }

  const SettingsDocument& document_;
  const SettingsEdit& edit_;
  SettingsReport& report_;
  std::vector<NodeStrategyEntry> entries_;
};

// Contract 4.3: an empty NodeSLO key is bad JSON, so the settings in force stay; for colocation-config it means the
// defaults.
void check_empty_keys(const SettingsEdit& edit, SettingsReport& report) {
  for (const SettingsDocument& document : settings_documents()) {
    if (document.key == kColocationKey) continue;
    for (const SettingsKey& key : edit.after) {
      if (key.name != document.key || !key.text.empty()) continue;
      report.key(key.name);
      report.warn(Reason::kSettingsSuspect, "", "an empty text: the settings in force stay",
                  "remove the key to get the defaults");
    }
  }
}

// A key that is nearly a known one is a typo; others may belong to other programs.
void check_unknown_keys(const SettingsEdit& edit, SettingsReport& report) {
  std::vector<std::string_view> known;
  for (const SettingsDocument& document : settings_documents()) known.push_back(document.key);
  for (const SettingsKey& key : edit.after) {
    if (std::find(known.begin(), known.end(), key.name) != known.end()) continue;
    if (const auto meant = base::nearest(key.name, known)) {
      report.key(key.name);
      report.warn(Reason::kSettingsUnknown, "", "an unknown key", cat("did you mean ", *meant, "?"));
    }
  }
}

}  // namespace

SettingsVerdict check_settings(const SettingsEdit& edit) {
  SettingsVerdict verdict;
  SettingsReport report(verdict, edit.parity);
  std::vector<DocumentCheck> checks;
  for (const SettingsDocument& document : settings_documents()) {
    const std::string_view text = text_of(edit.after, document.key);
    if (text.empty() || text == text_of(edit.before, document.key)) continue;
    checks.emplace_back(document, edit, report).run(text);
  }
  for (DocumentCheck& check : checks) check.nodes();
  check_empty_keys(edit, report);
  check_unknown_keys(edit, report);
  return verdict;
}

std::string_view peer_reason(model::Reason reason) {
  switch (reason) {
    case Reason::kSettingsUnreadable:
      return "ParseConfigFail";
    case Reason::kSettingsOverlap:
      return "NodeStrategiesOverlap";
    case Reason::kSettingsNodeConflict:
      return "ExistNodeConfict";
    default:
      return "ConfigParamInvalid";
  }
}

}  // namespace tidemark::policy::settings

// Plays testdata/*.txt: edits of the ConfigMap, and what is said to them.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "policy/settings/check.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;

class SettingsScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    line = base::trim(line);
    if (line.empty() || line.starts_with('#')) return {};
    const auto blank = line.find(' ');
    const std::string verb(line.substr(0, blank));
    const std::string rest(blank == std::string_view::npos ? "" : base::trim(line.substr(blank)));
    if (verb == "parity") {
      parity_ = rest == "tidemark" ? model::Profile::kTidemark : model::Profile::kKoordinator;
    } else if (verb == "names") {
      names_needed_ = rest == "needed";
    } else if (verb == "node") {
      node(rest);
    } else if (verb == "there") {  // what the ConfigMap holds before
      auto [key, text] = split(rest);
      there_[key] = text;
    } else if (verb == "empty") {
      there_.clear();
    } else {
      return edit(verb, rest);
    }
    return {};
  }

 private:
  static std::pair<std::string, std::string> split(const std::string& rest) {
    const auto blank = rest.find(' ');
    return {rest.substr(0, blank), blank == std::string::npos ? "" : rest.substr(blank + 1)};
  }

  // "NAME {labels}"
  void node(const std::string& rest) {
    const auto [name, labels] = split(rest);
    auto parsed = Json::parse(labels);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    auto& list = nodes_[name];
    list.clear();
    for (const auto& [key, value] : parsed->as_object()) list.push_back({key, value.as_string()});
  }

  // "KEY text": the edit sets one key.
  std::vector<std::string> edit(const std::string& key, const std::string& text) {
    auto after = there_;
    after[key] = text;
    const auto keys = [](const std::map<std::string, std::string>& data) {
      std::vector<SettingsKey> list;
      for (const auto& [name, value] : data) list.push_back({name, value});
      return list;
    };
    const auto before_keys = keys(there_);
    const auto after_keys = keys(after);
    std::vector<LabelledNode> nodes;
    for (const auto& [name, labels] : nodes_) nodes.push_back({name, labels});
    const SettingsVerdict verdict = check_settings({before_keys, after_keys, nodes, names_needed_, parity_});
    std::vector<std::string> lines;
    const auto tell = [&](std::string_view what, const std::vector<SettingsProblem>& problems) {
      for (const auto& each : problems) {
        lines.push_back(cat("> ", what, " ", peer_reason(each.reason), " [", model::reason_id(each.reason), "] ",
                            each.key, each.place.empty() ? "" : " ", each.place, ": found ", each.found,
                            "; allowed: ", each.allowed));
      }
    };
    tell("refused", verdict.errors);
    tell("note", verdict.warnings);
    if (verdict.conflict) {
      lines.push_back(cat("> conflict of ", base::join(verdict.conflict->strategies, ", "),
                          verdict.conflict->example_nodes.empty() ? "" : " on ",
                          base::join(verdict.conflict->example_nodes, ", ")));
    }
    if (verdict.allowed()) {
      lines.emplace_back("> taken");
      there_ = after;
    }
    return lines;
  }

  std::map<std::string, std::string> there_;
  std::map<std::string, std::vector<model::Label>> nodes_;
  bool names_needed_ = false;
  model::Profile parity_ = model::Profile::kKoordinator;
};

TEST(SettingsScenarios, MatchTheScenarioFiles) {
  testing::play_scenarios("policy/settings/testdata", 5, [] {
    auto scenario = std::make_shared<SettingsScenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::settings

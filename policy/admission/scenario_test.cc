// Plays testdata/*.txt: profiles, a pod, and the resulting pod.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "policy/admission/catch_up.h"
#include "policy/admission/mutate.h"
#include "policy/admission/pod_json.h"
#include "policy/admission/testing/merge.h"
#include "policy/admission/validate_pod.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;

Json json_of(std::string_view text) {
  auto parsed = Json::parse(text);
  if (!parsed) throw std::runtime_error(cat(text, ": ", parsed.error().message));
  return std::move(*parsed);
}

class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    line = base::trim(line);
    if (line.empty() || line.starts_with('#')) return {};
    const auto blank = line.find(' ');
    const std::string verb(line.substr(0, blank));
    const std::string rest(blank == std::string_view::npos ? "" : base::trim(line.substr(blank)));
    if (verb == "create") return create();
    if (verb == "validate") return validate(nullptr);
    if (verb == "update") return update(rest);
    if (verb == "catch-up") return catches_up_now();
    stage(verb, rest);
    return {};
  }

 private:
  // "NAME {json}"
  static std::pair<std::string, Json> named(const std::string& rest) {
    const auto blank = rest.find(' ');
    return {rest.substr(0, blank), blank == std::string::npos ? Json::object() : json_of(rest.substr(blank))};
  }

  void stage(const std::string& verb, const std::string& rest) {
    if (verb == "profile" || verb == "profile-meta") {
      auto [name, json] = named(rest);
      if (verb == "profile") {
        profiles_[name]["spec"] = std::move(json);
      } else {
        profiles_[name]["metadata"] = std::move(json);
      }
      profiles_[name]["metadata"]["name"] = Json(name);
    } else if (verb == "namespace") {
      labels_.clear();
      known_ = rest != "unknown";
      if (known_) {
        for (const auto& [key, value] : json_of(rest).as_object()) labels_.push_back({key, value.as_string()});
      }
    } else if (verb == "priority-class") {
      testing::Words words(rest);
      const std::string name = words.next();
      classes_[name].value = static_cast<std::int32_t>(*base::parse_int(words.next()));
      classes_[name].preemption_policy = words.next();
    } else if (verb == "pod") {
      pod_ = json_of(rest);
    } else if (verb == "draw") {
      draw_ = static_cast<int>(*base::parse_int(rest));
    } else if (verb == "parity") {
      rules_.parity = rest == "tidemark" ? Parity::kTidemark : Parity::kKoordinator;
    } else if (verb == "co-location") {
      off_ = rest == "off";
    } else if (verb == "while-off") {
      rules_.while_off = parse_while_off(rest).value();
    } else if (verb == "gate") {
      if (rest == "ColocationProfileSkipMutatingResources") rules_.translate_resources = false;
      if (rest == "ColocationProfileSkipValidatingPriority") rules_.priority_immutable = false;
      if (rest == "DisableExtendedResourceSpec") rules_.extended_resource_spec = false;
    } else if (verb == "require") {
      auto read = read_enhanced_validation("true", rest);
      if (!read) throw std::runtime_error(read.error().message);
      enhanced_ = std::move(*read);
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
  }

  std::vector<const ColocationProfile*> read_profiles() {
    read_.clear();
    for (const auto& [name, object] : profiles_) {
      auto profile = read_profile(object);
      if (!profile) throw std::runtime_error(profile.error().message);
      read_.push_back(std::move(*profile));
    }
    std::vector<const ColocationProfile*> list;
    for (const auto& profile : read_) list.insert(list.begin(), &profile);  // the order must not matter
    return list;
  }
  NamespaceLabels namespace_labels() const {
    return known_ ? NamespaceLabels(std::span<const model::Label>(labels_)) : std::nullopt;
  }
  void must_fit(const Json& pod) const {
    if (auto fine = check_pod(pod); !fine) throw std::runtime_error(fine.error().message);
  }

  std::vector<std::string> create() {
    must_fit(pod_);
    const auto profiles = read_profiles();
    const std::vector<int> draws(profiles.size(), draw_);
    const auto mutation = mutate_pod(rules_, {pod_, namespace_labels(), profiles, draws, off_,
                                              [this](std::string_view name) -> std::optional<PriorityClassValue> {
                                                const auto at = classes_.find(std::string(name));
                                                if (at == classes_.end()) return std::nullopt;
                                                return at->second;
                                              },
                                              testing::merge_simply});
    if (!mutation) {
      const Refusal& refusal = mutation.error();
      return {cat("> refused ", refusal.http_code, " [", model::reason_id(refusal.reason), "] profile ",
                  refusal.profile, refusal.detail.empty() ? "" : ": ", refusal.detail)};
    }
    std::vector<std::string> lines;
    for (const Json& operation : mutation->patch.as_array()) {
      lines.push_back(cat("> ", operation.text_at("op"), " ", operation.text_at("path"),
                          operation.at("value") == nullptr ? "" : " = ",
                          operation.at("value") == nullptr ? "" : operation.at("value")->dump()));
    }
    if (lines.empty()) lines.emplace_back("> as it came");
    if (!mutation->skipped.empty()) lines.push_back(cat("> skipped ", base::join(mutation->skipped, " ")));
    for (const auto& note : mutation->notes) {
      lines.push_back(cat("> note [", model::reason_id(note.reason), "] ", note.profile,
                          note.profile.empty() ? "" : ": ", note.detail));
    }
    pod_ = mutation->pod;
    return lines;
  }

  std::vector<std::string> validate(const Json* before) {
    must_fit(pod_);
    const auto profiles = read_profiles();
    ValidationInput input{pod_, before, "default", namespace_labels(), profiles, testing::merge_simply, &enhanced_};
    std::vector<std::string> lines;
    for (const auto& each : validate_pod(rules_, input)) {
      lines.push_back(cat("> [", model::reason_id(each.reason), "] ", each.field, " found ",
                          each.found.empty() ? "nothing" : each.found, " wanted ", each.wanted));
    }
    if (lines.empty()) lines.emplace_back("> allowed");
    return lines;
  }

  std::vector<std::string> update(const std::string& rest) {
    const Json before = pod_;
    must_fit(before);
    pod_ = json_of(rest);
    auto lines = validate(&before);
    if (lines.front() != "> allowed") pod_ = before;
    return lines;
  }

  std::vector<std::string> catches_up_now() {
    must_fit(pod_);
    const auto profiles = read_profiles();
    const CatchUp done =
        catch_up({pod_, namespace_labels(), profiles, rules_.parity, testing::merge_simply, off_, rules_.while_off});
    std::vector<std::string> lines{done.patch.is_null() ? "> nothing to do" : cat("> patch ", done.patch.dump())};
    if (!done.applied.empty()) lines.push_back(cat("> applied ", base::join(done.applied, " ")));
    if (!done.left.empty()) lines.push_back(cat("> left ", base::join(done.left, " ")));
    if (!done.patch.is_null()) testing::merge_simply(pod_, done.patch).value();
    return lines;
  }

  std::map<std::string, Json> profiles_;
  std::vector<ColocationProfile> read_;
  std::map<std::string, PriorityClassValue> classes_;
  std::vector<model::Label> labels_;
  bool known_ = true;
  Json pod_ = Json::object();
  int draw_ = 0;
  bool off_ = false;
  AdmissionRules rules_;
  EnhancedValidation enhanced_;
};

TEST(AdmissionScenarios, PlayAsWritten) {
  testing::play_scenarios("policy/admission/testdata", 8, [] {
    auto scenario = std::make_shared<Scenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::admission

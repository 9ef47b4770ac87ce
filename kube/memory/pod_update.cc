#include "kube/memory/pod_update.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr const char* kTerms =
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

void erase_path(Json& tree, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  Json* at = &tree;
  if (dot != std::string_view::npos) {
    for (const std::string_view part : base::split(path.substr(0, dot), '.')) {
      at = at->is_object() ? at->as_object().find(part) : nullptr;
      if (at == nullptr) return;
    }
  }
  if (at->is_object()) at->as_object().erase(path.substr(dot == std::string_view::npos ? 0 : dot + 1));
}

const Json::Array& list_at(const Json* list) {
  static const Json::Array none;
  return list != nullptr && list->is_array() ? list->as_array() : none;
}

// A deadline may come, and come nearer.
void check_deadline(const Json* was, const Json* now, Causes& causes) {
  const auto before = was == nullptr ? std::nullopt : was->get_int();
  const auto after = now == nullptr ? std::nullopt : now->get_int();
  if (!before || before == after) return;
  constexpr const char* kField = "spec.activeDeadlineSeconds";
  if (!after)
    causes.push_back(invalid_value(kField, "null", "must not update from a positive integer to nil value"));
  else if (*after < 0)
    causes.push_back(invalid_value(kField, now->dump(), "must be between 0 and 2147483647, inclusive"));
  else if (*after > *before)
    causes.push_back(invalid_value(kField, now->dump(), "must be less than or equal to previous value"));
}

void check_gates_only_go(const Json* was, const Json* now, Causes& causes) {
  std::set<std::string_view> held;
  for (const Json& gate : list_at(was)) held.insert(gate.text_at("name"));
  std::size_t index = 0;
  for (const Json& gate : list_at(now)) {
    if (!held.contains(gate.text_at("name")))
      causes.push_back(
          forbidden_value(cat("spec.schedulingGates[", index, "].name"),
                          cat("only deletion is allowed, but found new scheduling gate '", gate.text_at("name"), "'")));
    ++index;
  }
}

bool only_added(const Json& was, const Json& now) {
  for (const char* member : {"matchExpressions", "matchFields"}) {
    const Json::Array& held = list_at(was.at(member));
    const Json::Array& wanted = list_at(now.at(member));
    for (const Json& entry : held)
      if (std::find(wanted.begin(), wanted.end(), entry) == wanted.end()) return false;
  }
  return true;
}

// While gates hold a pod back, what says where it may run may become narrower.
void check_gated(const Json& was, const Json& now, Causes& causes) {
  if (const Json* held = was.at("nodeSelector"); held != nullptr && held->is_object()) {
    const Json* wanted = now.at("nodeSelector");
    const bool kept = std::all_of(held->as_object().begin(), held->as_object().end(), [&](const auto& member) {
      const Json* found = wanted == nullptr ? nullptr : wanted->at(member.first);
      return found != nullptr && *found == member.second;
    });
    if (!kept)
      causes.push_back(invalid_value("spec.nodeSelector", wanted == nullptr ? "null" : wanted->dump(),
                                     "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
  }
  const auto terms_of = [](const Json& spec) {
    const Json* required = spec.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution");
    return required == nullptr ? nullptr : required->at("nodeSelectorTerms");
  };
  const Json* shown = terms_of(now);
  const Json::Array& held = list_at(terms_of(was));
  const Json::Array& wanted = list_at(shown);
  if (held.empty()) return;
  if (held.size() != wanted.size()) {
    causes.push_back(invalid_value(kTerms, shown == nullptr ? "null" : shown->dump(),
                                   "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    if (!only_added(held[i], wanted[i]))
      causes.push_back(invalid_value(cat(kTerms, "[", i, "]"), wanted[i].dump(),
                                     "only additions are allowed (no mutations or deletions)"));
}

}  // namespace

void check_pod_update(const Json& before, const Json& after, Causes& causes) {
  Json was = before.at("spec") == nullptr ? Json::object() : *before.at("spec");
  Json now = after.at("spec") == nullptr ? Json::object() : *after.at("spec");
  const Json* held = was.at("tolerations");
  const Json* wanted = now.at("tolerations");
  if (held != nullptr && held->is_array()) {
    using Toleration = std::array<std::string_view, 4>;
    const auto of = [](const Json& json) -> Toleration {
      return {json.text_at("key"), json.text_at("effect"), json.text_at("operator"), json.text_at("value")};
    };
    std::set<Toleration> kept;
    if (wanted != nullptr && wanted->is_array())
      for (const Json& toleration : wanted->as_array()) kept.insert(of(toleration));
    for (const Json& toleration : held->as_array()) {
      if (kept.contains(of(toleration))) continue;
      causes.push_back(
          forbidden_value("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
      break;
    }
  }
  for (Json* spec : {&was, &now}) {
    for (const char* list : {"containers", "initContainers"}) {
      Json* containers = spec->as_object().find(list);
      if (containers == nullptr || !containers->is_array()) continue;
      for (Json& container : containers->as_array())
        if (container.is_object()) container.as_object().erase("image");
    }
    for (const char* path : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) erase_path(*spec, path);
  }
  check_deadline(before.at("spec", "activeDeadlineSeconds"), after.at("spec", "activeDeadlineSeconds"), causes);
  check_gates_only_go(before.at("spec", "schedulingGates"), after.at("spec", "schedulingGates"), causes);
  const Json* grace = was.at("terminationGracePeriodSeconds");
  const Json* shorter = now.at("terminationGracePeriodSeconds");
  if (grace != nullptr && grace->get_int().value_or(0) < 0 && shorter != nullptr && shorter->get_int() == 1)
    for (Json* spec : {&was, &now}) erase_path(*spec, "terminationGracePeriodSeconds");
  if (before.at("spec", "schedulingGates") != nullptr) {
    check_gated(was, now, causes);
    for (Json* spec : {&was, &now}) {
      for (const char* path : {"nodeSelector", "affinity.nodeAffinity"}) erase_path(*spec, path);
      // Without its node part an affinity may be as good as none.
      if (const Json* left = spec->at("affinity"); left != nullptr && left->is_object() && left->as_object().empty())
        erase_path(*spec, "affinity");
    }
  }
  if (was == now) return;
  causes.push_back(forbidden_value(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`,"
      "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
      "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
      "previously negative)"));
}

}  // namespace tidemark::kube::memory

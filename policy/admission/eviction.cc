#include "policy/admission/eviction.h"

#include <array>
#include <utility>

#include "policy/admission/pod_json.h"

namespace tidemark::policy::admission {
namespace {

constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kConflict = 409;  // the API server's answer to a failed precondition

// The kubelet's mark on the mirror pod of a static pod.
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

constexpr std::array<std::string_view, 11> kWords{"NoNode",      "NoUid",   "Unreadable", "AnotherPod",
                                                  "AnotherNode", "Mirror",  "Online",     "JobBudget",
                                                  "PoolBudget",  "TooMany", "NotKnown"};
static_assert(kWords.size() == static_cast<std::size_t>(EvictionDenial::kNotKnown) + 1);

EvictionRefusal refused(EvictionDenial why, int http_code, std::string_view found = "", std::string_view wanted = "") {
  return {why, http_code, std::string(found), std::string(wanted)};
}

}  // namespace

std::string_view to_string(EvictionDenial why) {
  return kWords[static_cast<std::size_t>(why)];
}

std::optional<EvictionRefusal> refuse_eviction(const EvictionAsked& asked) {
  if (asked.node.empty()) return refused(EvictionDenial::kNoNode, kForbidden);
  if (asked.uid.empty()) return refused(EvictionDenial::kNoUid, kBadRequest);
  return std::nullopt;
}

std::optional<EvictionRefusal> refuse_eviction(const EvictionAsked& asked, const Json& pod) {
  if (auto early = refuse_eviction(asked)) return early;
  if (const auto fine = check_pod(pod); !fine) {
    return refused(EvictionDenial::kUnreadable, kForbidden, fine.error().message);
  }
  if (const auto uid = pod.text_at("metadata", "uid"); uid != asked.uid) {
    return refused(EvictionDenial::kAnotherPod, kConflict, uid, asked.uid);
  }
  if (const auto node = pod.text_at("spec", "nodeName"); node != asked.node) {
    return refused(EvictionDenial::kAnotherNode, kForbidden, node, asked.node);
  }
  if (pod_text(pod, kAnnotations, kMirrorAnnotation)) return refused(EvictionDenial::kMirror, kForbidden);
  const PodClasses classes = pod_classes(pod);
  if (!is_offline(classes)) {
    return refused(EvictionDenial::kOnline, kForbidden, model::to_string(classes.raw_priority));
  }
  return std::nullopt;
}

}  // namespace tidemark::policy::admission

// A ClusterColocationProfile: which new pods it turns into offline work, and what it does to them (contract 3.3, 11.2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/reason.h"
#include "model/selector.h"
#include "policy/admission/parity.h"

namespace tidemark::policy {

// What becomes of a pod that a profile would make offline work while co-location is off.
enum class WhileOff : std::uint8_t {
  kWait,    // it becomes offline work as ever, and waits for resources that nobody offers
  kPlain,   // it stays as its author wrote it, and runs as online work
  kRefuse,  // it is refused
};

struct TextPair {
  std::string key;
  std::string value;
};

struct ColocationProfile {
  std::string name;
  std::optional<base::WallTime> created;
  std::optional<model::LabelSelector> namespaces;   // nullopt: all
  std::optional<model::LabelSelector> pods;         // nullopt: all
  std::optional<std::int64_t> probability_percent;  // nullopt: always, or `probability_problem`
  std::string probability_problem;                  // what is wrong with it; empty where nothing is
  // Each list is in ascending order of its keys.
  std::vector<TextPair> labels;
  std::vector<TextPair> annotations;
  std::vector<TextPair> label_keys_mapping;
  std::vector<TextPair> annotation_keys_mapping;
  std::vector<TextPair> label_suffixes;
  std::string scheduler_name;
  std::string qos_class;
  std::string priority_class_name;
  std::optional<std::int32_t> koordinator_priority;
  Json patch;                          // null where there is none
  bool skip_update_resources = false;  // by annotation
  bool controller_managed = false;     // by label: the reconciler also takes pods that are older than the profile
  std::optional<WhileOff> while_off;   // by annotation tidemark.io/while-off, over the manager's setting

  // About what it holds on the heap.
  std::size_t bytes() const;
};

inline constexpr std::string_view kWhileOffAnnotation = "tidemark.io/while-off";
std::optional<WhileOff> parse_while_off(std::string_view text);  // wait, plain, refuse

// From the object's JSON. What the API server's schema lets in is read; what it would not let in is an error.
Result<ColocationProfile> read_profile(const Json& object);

// The labels of the pod's namespace; nullopt where they cannot be had.
using NamespaceLabels = std::optional<std::span<const model::Label>>;

struct ProfileMatch {
  bool matched = false;
  // Why it could not be decided: kAdmitSelectorUnusable or kAdmitNamespaceUnknown. Then `matched` is the parity's word.
  std::optional<model::Reason> trouble;
};

// Trap: for the peer a selector that cannot be evaluated has matched. Parity::kTidemark: it has not.
ProfileMatch match(const ColocationProfile& profile, std::span<const model::Label> pod_labels,
                   const NamespaceLabels& namespace_labels, Parity parity);

// Whether chance lets the profile be applied. `draw` is in 0 … 99, each as likely.
//
//   koordinator   p ≠ 0 and (p = 100 or draw ≤ p)     so p % applies to p + 1 of 100 pods, and 99 is as good as 100
//   tidemark      draw < p
bool chance_applies(std::int64_t percent, int draw, Parity parity);

}  // namespace tidemark::policy

// A ClusterColocationProfile: which new pods it turns into offline work, and what it changes in them (contract 3.3,
// 11.2).
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

namespace tidemark::policy::admission {

// What happens while co-location is off to a pod that a profile would make offline work.
enum class WhileOff : std::uint8_t {
  kWait,    // it becomes offline work and waits for resources that no node offers
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
  std::string probability_problem;                  // what is wrong with it; empty if nothing is
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
  Json patch;                          // null if unset
  bool skip_update_resources = false;  // by annotation
  bool controller_managed = false;     // by label: the reconciler also takes pods that are older than the profile
  std::optional<WhileOff> while_off;   // by annotation tidemark.io/while-off, over the manager's setting

  // Approximate heap bytes.
  std::size_t bytes() const;
};

// On a ClusterColocationProfile: what happens to its new pods while co-location is off (wait, plain or refuse).
inline constexpr std::string_view kWhileOffAnnotation = "tidemark.io/while-off";
std::optional<WhileOff> parse_while_off(std::string_view text);

// Reads the object's JSON. What the API server's schema refuses is an error.
Result<ColocationProfile> read_profile(const Json& object);

// The labels of the pod's namespace; nullopt if they are unavailable.
using NamespaceLabels = std::optional<std::span<const model::Label>>;

struct ProfileMatch {
  bool matched = false;
  // Why it could not be decided: kAdmitSelectorUnusable or kAdmitNamespaceUnknown. Then the parity decides `matched`.
  std::optional<model::Reason> trouble;
};

// Trap: for Koordinator a selector that cannot be evaluated matches. Parity::kTidemark: it does not.
ProfileMatch match(const ColocationProfile& profile, std::span<const model::Label> pod_labels,
                   const NamespaceLabels& namespace_labels, Parity parity);

// Whether chance lets the profile apply. `draw` is uniform in 0 … 99.
//
//   koordinator   p ≠ 0 and (p = 100 or draw ≤ p)     so p % applies to p + 1 of 100 pods, and 99 is as good as 100
//   tidemark      draw < p
bool chance_applies(std::int64_t percent, int draw, Parity parity);

}  // namespace tidemark::policy::admission

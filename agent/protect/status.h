// How the agent stands, for people and commands on the machine (`status.json` in its run folder), and in one sentence
// for the node's condition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/node_strategy.h"
#include "model/reason.h"
#include "policy/doctor/node_findings.h"
#include "policy/stance/stance.h"

namespace tidemark::agent {

inline constexpr std::int64_t kStatusSchema = 1;

struct StrategyStatus {
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string stance;         // policy::to_string(Permit)
  std::string reason;         // an id
  std::int64_t in_force = 0;  // files that say something of its; of kOomOrder processes
  std::string says;           // what it decided last, in a few words; "" where nothing was
  bool operator==(const StrategyStatus&) const = default;
};

// What a trial of the kernel's files showed, or why there was none.
struct KnobTrials {
  std::vector<policy::KnobFound> found;
  std::string not_tried;
  bool any() const { return !found.empty() || !not_tried.empty(); }
  bool operator==(const KnobTrials&) const = default;
};

struct AgentStatus {
  std::optional<base::WallTime> at;
  std::int64_t pid = 0;
  bool off = false;
  bool latched = false;
  bool holding = false;
  bool peer_present = false;
  std::string by, why;               // of the order in force; "" where nobody ordered anything
  std::int64_t refused = 0;          // files that the kernel refused
  std::int64_t left = 0;             // files that are left to somebody else
  std::int64_t unmet = 0;            // wishes that no file of this kernel meets
  std::string trouble;               // why nothing can be written; "" where something can
  std::string only_shows;            // why all is only shown, whatever is said; "" where what is said holds
  std::string evict_lines;           // of eviction, that hold otherwise than the settings say; "" where none does
  std::string line_ends;             // raised lines that ended, and that no manager took back; "" where there are none
  std::string copilots;              // what they say of limits of their own; "" where none has any
  std::string priority_by;           // the file that CPU priority is set with; "" where only weights are left
  std::string offline_group;         // of all BestEffort pods; "": there is none, or suppression may not write it
  std::string online_in_besteffort;  // pods that are in it and not offline; "" where there are none
  std::vector<StrategyStatus> strategies;
  policy::OomFound oom;
  KnobTrials trials;                           // at its start; an older agent tells none
  std::vector<policy::MeasureFound> measures;  // the same
  bool operator==(const AgentStatus&) const = default;
};

std::string status_json(const AgentStatus& status);
Result<AgentStatus> parse_status(std::string_view text);
// nullopt: no agent wrote one.
Result<std::optional<AgentStatus>> read_status(const std::string& folder);
Result<void> write_status(const std::string& folder, const AgentStatus& status);

// Nothing is done for it since it is not known yet what is wanted, or what runs here; not since the agent holds.
bool awaits(const StrategyStatus& strategy);
// "PeerPresent", "Unable", "OffLocally", "Off", "Waiting", "Holding", "Enforcing" or "Observing": the first that holds,
// "PeerPresent" where it is not off, "Waiting" and "Holding" where any strategy does.
std::string_view condition_reason(const AgentStatus& status);
std::string condition_message(const AgentStatus& status);
// What stands in it of an order, behind other words; "" where nobody is named.
std::string ordered_text(std::string_view by, std::string_view why);
// Whether it is one of those above, or of a machine of `tidemark up`. Another is of an agent of another version.
bool is_condition_reason(std::string_view reason);

// Whether such a condition says that no file of the kernel is in force. The chart asks the same before it is
// uninstalled (deploy/chart/templates/agent_uninstall.yaml).
bool says_nothing_in_force(std::string_view reason, std::string_view message);

}  // namespace tidemark::agent

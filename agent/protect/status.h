// The status of the agent, for commands on the machine (`status.json` in its run folder), and in one sentence for the
// node's condition.
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
#include "policy/explain/doctor/node_findings.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

inline constexpr std::int64_t kStatusSchema = 1;

struct StrategyStatus {
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string permit;         // to_string() of the permit
  std::string reason;         // an id
  std::int64_t in_force = 0;  // files that hold a value of it; of kOomOrder processes
  std::string says;           // its last decision, in a few words; "" if none
  bool operator==(const StrategyStatus&) const = default;
};

// The result of the trial of the kernel's files, or why there was none.
struct KnobTrials {
  std::vector<policy::explain::KnobFound> found;
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
  std::int64_t mark_generation = 0;  // of the node's state mark, as it was obeyed; 0: the node has none
  std::string by, why;               // of the order in force; "" if no order is in force
  std::int64_t refused = 0;          // files that the kernel refused
  std::int64_t left = 0;             // files left to another writer
  std::int64_t unmet = 0;            // wanted values that no file of this kernel can hold
  std::string trouble;               // why nothing can be written; "" if something can
  std::string only_shows;            // why all is only shown, whatever the settings; "" if the settings apply
  std::string evict_lines;           // eviction thresholds that differ from the settings; "" if none does
  std::string line_ends;             // raised thresholds that ended and that no manager lowered; "" if there are none
  std::string copilots;              // what copilots report about their own limits; "" if none has any
  std::string priority_by;           // the file that sets CPU priority; "" if only weights are left
  std::string offline_group;         // of all BestEffort pods; "": there is none, or suppression may not write it
  std::string online_in_besteffort;  // pods in it that are not offline; "" if there are none
  std::string gates_without_effect;  // feature gates of Koordinator's agent that are on, without effect
  std::vector<StrategyStatus> strategies;
  policy::explain::OomFound oom;
  KnobTrials trials;                                    // at its start; missing from an older agent
  std::vector<policy::explain::MeasureFound> measures;  // the same
  bool operator==(const AgentStatus&) const = default;
};

std::string status_json(const AgentStatus& status);
Result<AgentStatus> parse_status(std::string_view text);
// nullopt: no agent wrote one.
Result<std::optional<AgentStatus>> read_status(const std::string& folder);
Result<void> write_status(const std::string& folder, const AgentStatus& status);

// Whether the strategy waits for settings or for the list of tasks; not because of safe start.
bool awaits(const StrategyStatus& strategy);
// "PeerPresent", "Unable", "OffLocally", "Off", "Waiting", "Holding", "Enforcing" or "Observing": the first that
// applies. "PeerPresent" applies if the node is not off, "Waiting" and "Holding" if they apply to any strategy.
std::string_view condition_reason(const AgentStatus& status);
std::string condition_message(const AgentStatus& status);
// The text about an order, to append to other words; "" if there is no author.
std::string ordered_text(std::string_view by, std::string_view why);

}  // namespace tidemark::agent

// The auditor's arithmetic: what a node may offer at most, calculated from what stands in the API server by a way of
// its own (nothing of policy/ is asked), and what is wrong with what it does offer. For `tidemark check ledger`.
//
//   ceiling = capacity × threshold − max(system use, capacity − allocatable) − Σ use of pods above batch   × ratio
//   (cpu)
//
// It is an upper bound of every calculation policy that looks at use; `request` is held to capacity × threshold only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/reason.h"

namespace tidemark::cli {

// CPU in thousandths of a core, memory in bytes.
struct AuditAmounts {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool operator==(const AuditAmounts&) const = default;
};

// What settings say about one node, as far as the auditor goes by them. Where it cannot tell which of several hold, the
// most generous.
struct AuditRules {
  std::int64_t cpu_threshold_percent = 60;
  std::int64_t memory_threshold_percent = 65;
  bool cpu_by_use = true;
  bool memory_by_use = true;
  double diff_threshold = 0.1;  // what moved by less is not worth a write
  std::int64_t degrade_minutes = 15;
  // profile tidemark: an offer without reports is held and decays, growth is slewed.
  bool decays = false;
  bool slewed = false;
  std::int64_t slew_permille_per_minute = 100;
  std::int64_t dead_band_permille = 10;
};
// Texts of colocation-config and of tidemark-config; nullopt: not there.
struct AuditTexts {
  std::optional<std::string> colocation;
  std::optional<std::string> ours;
};

// What may be in force on a node: what the ConfigMaps say, and every revision that a roll-out under way has in force
// somewhere. Which of them a node runs is not asked.
class AuditSettings {
 public:
  // `stored`: the data of tidemark-config-revisions. A live text that cannot be read is none where a stored one can.
  static Result<AuditSettings> read(const AuditTexts& live,
                                    const std::map<std::string, std::string, std::less<>>& stored = {});
  // Text of the overrides of the water line; those in force count on every node. What cannot be read counts as none.
  void take_overrides(std::optional<std::string_view> text, base::WallTime now);
  AuditRules of(const Json& node) const;

 private:
  struct Layer {
    Json colocation;
    Json ours;
  };
  void take_override(const Json& line, base::WallTime now);

  std::vector<Layer> layers_;  // one at least
  // The highest line that somebody put anywhere for a while.
  std::int64_t override_cpu_percent_ = 0;
  std::int64_t override_memory_percent_ = 0;
};

// One look at one node.
struct AuditSight {
  std::string node;
  std::string writer;  // field manager of the batch resources; "" where nobody offers any
  AuditAmounts capacity;
  AuditAmounts allocatable;
  std::optional<AuditAmounts> offered;  // batch of the node's status
  bool negative = false;                // any of the batch and mid resources
  std::optional<AuditAmounts> origin;   // of the annotation
  AuditAmounts third_party;             // batch that others hold
  std::optional<std::string> stamp;     // status.updateTime of the NodeMetric
  AuditAmounts system_used;
  AuditAmounts online_used;
  AuditAmounts sold;  // requests for batch of pods on the node
  double ratio = 1;   // of CPU normalization
  AuditRules rules;
  std::string unreadable;  // what could not be read; "" where all could
};
AuditSight sight_of(const Json& node, const AuditSettings& settings);
// What its NodeMetric says; without one nothing is reported.
void take_metric(AuditSight& sight, const Json& metric);
void drop_metric(AuditSight& sight);

// What a pod holds of batch. Read straight from the bytes: there are many.
struct AuditPod {
  std::string node;
  AuditAmounts sold;
  std::string unreadable;
};
Result<AuditPod> read_pod(std::string_view bytes);
void take_pod(AuditSight& sight, const AuditPod& pod);
AuditAmounts ceiling_of(const AuditSight& sight);

struct AuditOptions {
  base::Duration lag = std::chrono::seconds(10);  // in which a change is to be followed
  std::string writer = "tidemark";                // field managers that begin so are ours
};

// One kind of excess on one node, summed up.
struct AuditFinding {
  model::Reason reason = model::Reason::kAuditNegative;
  std::string node;
  std::int64_t looks = 0;
  double cpu_core_s = 0;
  double memory_gib_s = 0;
  AuditAmounts worst;
  std::string example;  // the numbers of the worst look
};

class Auditor {
 public:
  explicit Auditor(AuditOptions options) : options_(std::move(options)) {}
  // All nodes of one look; `now` never goes back.
  void look(const std::vector<AuditSight>& sights, base::MonotonicTime now, base::WallTime wall);

  std::vector<AuditFinding> findings() const;  // mistakes first, then the largest
  std::int64_t looks() const { return looks_; }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  struct Seen {
    AuditSight sight;
    base::MonotonicTime offered_at;                      // when the origin was last seen to change
    std::map<model::Reason, base::MonotonicTime> since;  // excesses that have not gone away yet
  };
  struct Excess {
    model::Reason reason;
    AuditAmounts amount;
    std::string example;
  };
  std::vector<Excess> excesses(const AuditSight& sight, const Seen* before, base::MonotonicTime now,
                               base::WallTime wall) const;
  void note(const AuditSight& sight, const Excess& excess, base::Duration elapsed);

  AuditOptions options_;
  std::int64_t looks_ = 0;
  std::optional<base::MonotonicTime> last_look_;
  std::map<std::string, Seen> nodes_;
  std::map<std::pair<std::string, model::Reason>, AuditFinding> findings_;
};

// A finding that must not be, whoever wrote it.
bool is_mistake(model::Reason reason);

}  // namespace tidemark::cli

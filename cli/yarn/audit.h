// The auditor's arithmetic: what a node may offer at most, calculated from what stands in the API server by a way of
// its own (nothing of policy/ is asked), and what is wrong with what it does offer. For `tidemark check ledger`.
//
//   ceiling = capacity × threshold − max(system use, capacity − allocatable) − Σ use of pods above batch   × ratio
//   (cpu)
//
// It is an upper bound of every calculation policy that looks at use; `request` is held to capacity × threshold only.
// An offer counts with its real amount (offer × 100 / over-report), and then
//
//   origin ≤ ceiling    offered to either side ≤ ceiling
//   others = what third parties beside YARN hold
//   offered to Kubernetes + held by YARN + others ≤ origin
//   offered to YARN + held by Kubernetes' pods + others ≤ origin    where an operator keeps a book
//   offered to Kubernetes + offered to YARN + others ≤ origin       and the ledger is strict
//   what one side is given ≤ origin − what the other may still act on − others             (the same)
//   total at the ResourceManager ≤ what YARN is offered; where it is offered nothing by name, ≤ origin − held by pods
//                                                                                              and others
//   Σ offered by its NUMA zones ≤ offered to Kubernetes                       where the pool has the profile tidemark
//
// What is seen of a node holds until the next thing is seen of it, so an excess lasts from event to event, and its
// integral is exact to them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/yarn/audit_read.h"
#include "cli/yarn/audit_settings.h"
#include "model/reason.h"

namespace tidemark::cli {

// What a YARN operator that takes our offers says of a node, and what it was offered; in YARN's own currency.
struct AuditYarn {
  bool has_book = false;
  std::int64_t book_generation = -1;
  AuditAmounts confirmed;
  std::optional<AuditAmounts> sold;  // nullopt: it does not say
  AuditByClass sold_by_class;
  std::optional<AuditAmounts> offered;
  std::int64_t offer_generation = 0;
  AuditAmounts up_to;
  bool operator==(const AuditYarn&) const = default;

  // At most, where it is not known exactly.
  AuditAmounts may_hold() const;
  AuditAmounts may_act_on() const;
};

// What a ResourceManager itself says of a node, in YARN's own currency.
struct AuditRm {
  AuditAmounts total;  // that it may hand out
  AuditAmounts used;
  bool operator==(const AuditRm&) const = default;
};

// What is known of one node. Wide, because the findings are independent: each reads a few of these facts.
struct AuditSight {
  std::string node;
  std::string writer;       // field manager of the batch resources; "" if there are none
  std::string yarn_writer;  // of the offer to YARN
  AuditAmounts capacity;
  AuditAmounts allocatable;
  std::optional<AuditAmounts> offered;  // batch of the node's status
  bool negative = false;                // any of the batch and mid resources
  std::optional<AuditAmounts> origin;   // of the annotation
  AuditAmounts third_party;             // batch that all third parties hold
  AuditAmounts others;                  // of that those beside YARN
  AuditYarn yarn;
  std::optional<AuditRm> rm;         // where ResourceManagers are asked and one knows the node
  bool takes_no_work = false;        // not ready, or cordoned
  std::optional<std::string> stamp;  // status.updateTime of the NodeMetric
  AuditAmounts system_used;
  AuditAmounts online_used;
  AuditAmounts sold;  // requests for batch of pods on the node
  // What the NUMA zones together say of batch, in thousandths of the node's units; nullopt where none says anything.
  std::optional<AuditAmounts> zones;
  std::string zones_writer;
  double ratio = 1;  // of CPU normalization
  AuditRules rules;
  std::string unreadable;  // what could not be read; "" where all could
};
AuditSight sight_of(const Json& node, const AuditSettings& settings);

// What it holds is from then on the ResourceManager's word.
void take_rm(AuditSight& sight, const AuditRm& rm);

struct AuditMetric {
  std::string stamp;  // "" where there is none
  AuditAmounts system_used;
  AuditAmounts online_used;
  std::string unreadable;
};
AuditMetric read_metric(const Json& metric);
void take_metric(AuditSight& sight, const AuditMetric& metric);

// What a NodeResourceTopology says of batch.
struct AuditZones {
  std::optional<AuditAmounts> offered;  // of all zones, as in AuditSight
  std::string writer;                   // field manager of the zones; "" where that is not told
  std::string unreadable;
};
AuditZones read_zones(const Json& topology);
void take_zones(AuditSight& sight, const AuditZones& zones);

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

// Growth is reported if no NodeMetric and no settings came within this time after it: each kind of object has its own
// watch, so the cause of the growth may be seen after the growth.
inline constexpr base::Duration kWatchSkew = std::chrono::seconds(2);
// So long after a cut a scheduler may bind by what a node carried before; a little less than the manager waits, which
// sees the cut at another moment.
inline constexpr base::Duration kAuditBindLag = std::chrono::seconds(8);

// One kind of excess on one node, summed up.
struct AuditFinding {
  model::Reason reason = model::Reason::kAuditNegative;
  std::string node;
  std::int64_t times = 0;  // it began
  double cpu_core_s = 0;
  double memory_gib_s = 0;
  AuditAmounts worst;
  std::string example;  // the numbers at its worst
};

class Auditor {
 public:
  explicit Auditor(AuditOptions options) : options_(std::move(options)) {}

  // What holds of a node from `now` on, which never goes back.
  void see(const AuditSight& sight, base::MonotonicTime now, base::WallTime wall);
  void gone(const std::string& node, base::MonotonicTime now);
  // A NodeManager that is active and no node's: what it may hand out is held against nothing here. No mistake by
  // itself, a cluster of YARN may have machines of its own.
  void without_node(const std::string& node_manager, const AuditRm& rm);
  // Brings all sums up to `now`.
  void until(base::MonotonicTime now, base::WallTime wall);
  // Stops counting from `now` on, until the nodes are seen again.
  void look_away(base::MonotonicTime now);

  std::vector<AuditFinding> findings() const;  // mistakes first, then the largest
  std::int64_t changes() const { return changes_; }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  struct Excess {
    model::Reason reason = model::Reason::kAuditNegative;
    AuditAmounts amount;
    std::string example;
    std::string writer;  // of what is too much
    bool operator==(const Excess&) const = default;
  };
  struct Active {
    Excess excess;
    base::MonotonicTime since;
    std::optional<model::Reason> told_as;
  };
  // A growth that should not have been. It lasts until the offer moves again, or what excuses it comes.
  struct Deed {
    Excess excess;
    base::MonotonicTime at;
    std::optional<std::string> stamp;  // the last report then
    base::Duration saved{0};           // growth that was saved up, of one that was too fast
    bool over = false;                 // the offer moved again
  };
  struct Seen {
    AuditSight sight;
    bool looked_at = true;
    base::MonotonicTime at;          // up to which it is summed up
    base::WallTime wall;             // the same moment
    base::MonotonicTime offered_at;  // when the origin was last seen to change
    std::map<model::Reason, Active> active;
    std::vector<Deed> deeds;
    // What Kubernetes was offered, and until when, of the last kAuditBindLag.
    std::deque<std::pair<AuditAmounts, base::MonotonicTime>> carried;
  };
  static bool is_stale(const Seen& seen);
  static std::optional<base::Duration> stale_in(const Seen& seen);
  static std::optional<std::int64_t> hour_of(const Seen& seen);
  static std::optional<base::Duration> hour_left(const Seen& seen);
  base::Duration lag_of(model::Reason reason) const;
  std::vector<Excess> states(const Seen& seen) const;
  static void given(const AuditSight& before, const Seen& seen, std::vector<Excess>& found);
  void notice_deeds(const AuditSight& before, Seen& seen) const;
  AuditAmounts too_fast(const Seen& seen, const Deed& deed) const;
  void judge(Seen& seen);
  void pass(Seen& seen, base::MonotonicTime to);
  void advance(Seen& seen, base::MonotonicTime now);
  void add(const Seen& seen, Active& active, model::Reason reason, base::Duration elapsed);

  AuditOptions options_;
  std::int64_t changes_ = 0;
  std::map<std::string, Seen> nodes_;
  std::map<std::pair<std::string, model::Reason>, AuditFinding> findings_;
};

// Whether the finding is a mistake, whichever program wrote the amounts.
bool is_mistake(model::Reason reason);

}  // namespace tidemark::cli

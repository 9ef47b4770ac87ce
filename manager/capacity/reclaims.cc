#include "manager/capacity/reclaims.h"

#include "base/text.h"
#include "manager/capacity/figures.h"
#include "policy/sell/ledger/books.h"

namespace tidemark::manager {
namespace {

constexpr double kMilli = 1000;

std::string words(std::string_view side, const std::vector<model::Reclaim>& reclaim) {
  std::string out;
  for (const auto& each : reclaim) {
    out += base::cat(out.empty() ? "" : "; ", side, ": work of ",
                     each.work_class.empty() ? "no class" : base::cat("class ", each.work_class), " keeps ",
                     each.keep.cpu.value, " milli-cores and ", each.keep.memory.value, " bytes (", each.reason, ")");
  }
  return out;
}

}  // namespace

Reclaims::Reclaims(base::Registry& metrics, kube::EventRecorder& recorder, NodeSpecs& specs)
    : metrics_(metrics), recorder_(recorder), specs_(specs) {}

void Reclaims::take(const kube::Node& node, const NodeDecision& decision, bool tells) {
  const std::string name(node.meta.name.view());
  const auto [at, first] = nodes_.try_emplace(name);
  Known& known = at->second;
  if (!first) count(known, -1);
  known.pool = decision.pool->name;
  known.kubernetes.clear();
  known.yarn.clear();
  if (decision.writes()) {
    known.kubernetes = policy::sell::told(decision.kubernetes_reclaim);
    if (decision.yarn_offer) known.yarn = policy::sell::told(decision.yarn_reclaim);
  }
  count(known, 1);
  const bool kubernetes = policy::sell::worth_telling(known.told_kubernetes, known.kubernetes);
  const bool yarn = policy::sell::worth_telling(known.told_yarn, known.yarn);
  if (kubernetes) known.told_kubernetes = known.kubernetes;
  if (yarn) known.told_yarn = known.yarn;
  const bool none = known.kubernetes.empty() && known.yarn.empty();
  if (tells && (kubernetes || yarn)) {
    std::string said = words("pods", known.kubernetes);
    const std::string of_yarn = words("YARN", known.yarn);
    if (!said.empty() && !of_yarn.empty()) said += "; ";
    said += of_yarn;
    recorder_.record({"v1", "Node", "", name, std::string(node.meta.uid)}, kube::EventSeverity::kNormal,
                     none ? "TidemarkReclaimOver" : "TidemarkReclaim",
                     none ? std::string(model::reason_sentence(model::Reason::kLedgerReclaimOver)) : std::move(said));
  }
  if (kubernetes || (first && was_asked(name))) specs_.look_at(name);
}

// By a manager that led before: what it asked for may be over.
bool Reclaims::was_asked(const std::string& node) const {
  const NodeSloProjection* slo = specs_.slos().find({"", node});
  return slo != nullptr && slo->told.reclaim && !slo->told.reclaim->classes.empty();
}

void Reclaims::forget(const model::NodeName& node) {
  const auto found = nodes_.find(node.value);
  if (found == nodes_.end()) return;
  count(found->second, -1);
  nodes_.erase(found);
}

std::optional<std::vector<model::Reclaim>> Reclaims::of(std::string_view node) const {
  const auto found = nodes_.find(std::string(node));
  if (found == nodes_.end()) return std::nullopt;
  return found->second.kubernetes;
}

void Reclaims::count(const Known& known, int sign) {
  side(known.pool, "kubernetes", known.kubernetes, sign);
  side(known.pool, "yarn", known.yarn, sign);
}

void Reclaims::side(std::string_view pool, std::string_view side, const std::vector<model::Reclaim>& reclaim,
                    int sign) {
  if (reclaim.empty()) return;
  Sum& sum = sums_[{std::string(pool), std::string(side)}];
  sum.nodes += sign;
  for (const auto& each : reclaim) {
    const model::Resources part = model::min(model::max(each.amount, model::Resources{}), kNodeMost);
    sum.amount = sign > 0 ? sum.amount + part : sum.amount - part;
  }
  const base::Labels labels{{"pool", pool}, {"side", side}};
  metrics_.gauge("tidemark_reclaim_nodes", "Nodes on which a side must return capacity.", labels)
      .set(static_cast<double>(sum.nodes));
  metrics_.gauge("tidemark_reclaim_cpu_cores", "Amount still to be reclaimed from work.", labels)
      .set(static_cast<double>(sum.amount.cpu.value) / kMilli);
  metrics_.gauge("tidemark_reclaim_memory_bytes", "Amount still to be reclaimed from work.", labels)
      .set(static_cast<double>(sum.amount.memory.value));
}

}  // namespace tidemark::manager

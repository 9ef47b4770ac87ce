#include "agent/evict/evict_lines.h"

#include <utility>

#include "base/text.h"
#include "model/reason.h"
#include "policy/explain/evict_text.h"

namespace tidemark::agent {
namespace {

policy::evict::LineCapacities capacities_of(model::MemoryBytes memory, const DiskSights& sights) {
  policy::evict::LineCapacities out{.memory = memory};
  for (std::size_t at = 0; at < model::kDisks; ++at) {
    if (!sights.disks[at]) continue;
    out.bytes[at] = sights.disks[at]->bytes;
    out.inodes[at] = sights.disks[at]->inodes;
  }
  out.one_disk = !sights.disks[static_cast<std::size_t>(model::Disk::kRuntime)];
  return out;
}

}  // namespace

const policy::protect::NodeRules& EvictLines::hold(const policy::protect::NodeRules& said,
                                                   const policy::evict::KubeletFound* kubelet,
                                                   model::MemoryBytes memory, const DiskSights& sights) {
  if (kubelet == nullptr) return said;
  const policy::evict::LineCapacities capacities = capacities_of(memory, sights);
  if (said_ == said && kubelet_ == *kubelet && capacities_ == capacities) return held_.rules;
  said_ = said;
  kubelet_ = *kubelet;
  capacities_ = capacities;
  held_ = policy::evict::under_kubelet(said, kubelet_, capacities_);
  if (held_.moved != told_) tell(held_.moved);
  return held_.rules;
}

void EvictLines::tell(const std::vector<policy::evict::LineBeforeKubelet>& moved) {
  says_.clear();
  for (const policy::evict::LineBeforeKubelet& each : moved)
    says_ += base::cat(says_.empty() ? "" : "; ", policy::explain::moved_line_text(each));
  if (moved.empty()) {
    log_.info("the eviction thresholds are those of the settings");
  } else {
    log_.warn(model::reason_sentence(model::Reason::kEvictLineMoved),
              {{"lines", says_}, {"reason", model::reason_id(model::Reason::kEvictLineMoved)}});
  }
  told_ = moved;
}

}  // namespace tidemark::agent

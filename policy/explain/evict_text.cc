#include "policy/explain/evict_text.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;
using model::Reason;

// The order of importance: a task to evict, then what blocks an eviction, then the rest.
int weight(const evict::EvictVerdict& verdict) {
  switch (verdict.reason) {
    case Reason::kEvictUnfit:  // most lines are simply not drawn
      return 0;
    case Reason::kEvictBelowLine:
      return 1;
    case Reason::kEvictNotMeasured:
      return 2;
    default:
      return verdict.reason == verdict.feature.reason ? 4 : 3;
  }
}

std::string levels(std::int64_t seen, std::int64_t line) {
  return cat(seen, " % of ", line, " %");
}

}  // namespace

std::string evict_seen(const evict::Gap& gap) {
  if (gap.feature == evict::EvictFeature::kReclaim) {
    return cat(gap.amount, gap.measure == evict::Measure::kCpuRequested ? " milli-cores" : " bytes",
               " requested by pods of ", gap.work_class.empty() ? "no class" : cat("class ", gap.work_class),
               " above the ", gap.keep, " that they keep");
  }
  if (gap.feature == evict::EvictFeature::kMemoryPressure) {
    return cat(gap.seen_percent, " % of the last ten seconds, the threshold is ", gap.line_percent, " %");
  }
  if (gap.feature == evict::EvictFeature::kDisk) {
    return cat(gap.seen_percent, gap.measure == evict::Measure::kInodesHeld ? " % of the inodes of " : " % of ",
               to_string(gap.disk), " free, the line is ", gap.line_percent, " %, up to ", gap.goal_percent, " %");
  }
  return cat(levels(gap.seen_percent, gap.line_percent), ", down to ", gap.goal_percent, " %",
             !gap.as_kubelet ? ""
             : gap.of_pods   ? ", as the kubelet counts it: by the rest of the limit of all pods together"
                             : ", as the kubelet counts it: including the page cache");
}

std::string evict_why(const evict::Gap& gap) {
  return cat(model::reason_id(gap.reason), ": ", model::reason_sentence(gap.reason), " (", evict_seen(gap), ")");
}

std::string evict_event(const evict::Gap& gap) {
  return cat("trigger by koordlet feature ", to_string(gap.feature), ", ", evict_why(gap));
}

std::string evict_says(std::span<const evict::EvictVerdict> verdicts, std::size_t leaving, std::string spare) {
  std::string out = std::move(spare);
  out.clear();
  const auto first = std::ranges::max_element(verdicts, {}, weight);
  if (first != verdicts.end()) {
    out.append(model::reason_id(first->reason)).append(": ").append(to_string(first->feature.feature));
    // Below its line a level moves all the time, and means nothing.
    if (first->feature.line_percent != 0 && weight(*first) > 2) {
      out += first->feature.feature == evict::EvictFeature::kDisk
                 ? cat(" ", first->feature.seen_percent, " % free of ", first->feature.line_percent, " %")
                 : cat(" ", levels(first->feature.seen_percent, first->feature.line_percent));
    }
  }
  if (leaving > 0) out += cat(out.empty() ? "" : "; ", leaving, " leaving");
  return out;
}

std::string moved_line_text(const evict::LineBeforeKubelet& moved) {
  const bool memory = moved.line == evict::EvictLine::kMemory;
  const std::string_view what = memory                                      ? "memory "
                                : moved.line == evict::EvictLine::kDiskFree ? "free disk "
                                                                            : "free inodes ";
  return cat(what, moved.said, " % -> ", moved.holds, " %, since the kubelet evicts ",
             memory ? cat("from ", moved.kubelet, " % on") : cat("below ", moved.kubelet, " %"));
}

}  // namespace tidemark::policy::explain

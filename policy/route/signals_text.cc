#include "policy/route/signals_text.h"

#include <string_view>
#include <vector>

#include "base/text.h"

namespace tidemark::policy::route {
namespace {

using base::cat;

constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kMib = 1024 * 1024;

std::string cores_text(model::CpuMilli cpu) {
  if (cpu.value % kMilli == 0) return cat(cpu.value / kMilli, " cores");
  return cat(cpu.value, "m cores");
}

std::string amount_text(const model::Resources& amount) {
  return cat(cores_text(amount.cpu), ", ", amount.memory.value / kMib, " MiB");
}

std::string capacity_text(const RouteInput& input, const BatchCapacity& capacity) {
  model::Resources idle;
  std::string owned;
  for (const OwnedCapacity& each : capacity.nodes) {
    idle += each.idle;
    if (!each.owner.empty()) owned += cat(", ", amount_text(each.idle), " of them on nodes of ", each.owner);
  }
  std::string out = cat("Kubernetes: ", amount_text(idle), " idle", owned);
  for (const CapacityClaim& claim : capacity.claims) {
    const std::string_view whose = claim.business == input.business ? std::string_view("its business")
                                   : claim.business.empty()         ? std::string_view("other work")
                                                                    : std::string_view(claim.business);
    out += cat("; ", whose, " goes first with ", amount_text(claim.batch));
  }
  return out;
}

std::string quota_text(const QuotaRoom& quota) {
  std::vector<std::string> left;
  if (quota.batch_cpu) left.push_back(cores_text(*quota.batch_cpu));
  if (quota.batch_memory) left.push_back(cat(quota.batch_memory->value / kMib, " MiB"));
  if (quota.pods) left.push_back(cat(*quota.pods, " pods"));
  return left.empty() ? "no quota of its namespace" : cat("quota of its namespace leaves ", base::join(left, ", "));
}

std::string queue_text(const YarnQueue& queue) {
  std::string out = cat("YARN: queue ", queue.path, " ", queue.used_percent, " % used, ", queue.pending,
                        " applications and ", queue.pending_containers, " containers pending, ");
  if (queue.p95_bound_s) return out + cat("95 % of ", queue.waits, " waits within ", *queue.p95_bound_s, " s");
  return out + cat("wait unknown after ", queue.waits, " runs");
}

}  // namespace

std::string text_of_signals(const RouteInput& input) {
  const RouteSignals& signals = input.signals;
  std::vector<std::string> parts = {
      cat("needs ", amount_text(signals.need.batch), ", ", signals.need.pods, " pods"),
      signals.capacity ? capacity_text(input, *signals.capacity) : "Kubernetes: idle capacity unknown",
      signals.quota ? quota_text(*signals.quota) : "quota of its namespace unknown",
      signals.queue ? queue_text(*signals.queue) : "YARN: queue unknown",
  };
  return base::join(parts, "; ");
}

}  // namespace tidemark::policy::route

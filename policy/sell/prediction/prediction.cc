#include "policy/sell/prediction/prediction.h"

#include <algorithm>
#include <limits>

namespace tidemark::policy::sell {
namespace {

using model::PriorityClass;
using model::Resources;

constexpr Resources kNothing;

std::int64_t times(std::int64_t amount, double ratio) {
  const double product = static_cast<double>(amount) * ratio;
  if (!(product < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return std::max<std::int64_t>(static_cast<std::int64_t>(product), 0);
}

Resources with_margin(const Resources& peak, const PredictionConfig& config) {
  const auto percent = std::clamp<std::int64_t>(config.safety_margin_percent, 0, 100);
  const double ratio = static_cast<double>(100 + percent) / 100;
  return {{times(peak.cpu.value, ratio)}, {times(peak.memory.value, ratio)}};
}

bool is_reclaimable(PriorityClass priority) {
  return priority == PriorityClass::kProd || priority == PriorityClass::kNone;
}

bool is_young(const PredictedPod& pod, const PredictionConfig& config, base::WallTime now) {
  std::int64_t age = 0;
  if (__builtin_sub_overflow(now.since_epoch.count(), pod.created.since_epoch.count(), &age)) return now < pod.created;
  return age <= config.cold_start.count();
}

// The rest of the node limits the result.
Resources bounded(const Resources& allocatable, const Resources& unreclaimable, const Resources& reclaimable) {
  return model::max(model::min(model::max(allocatable - unreclaimable, kNothing), reclaimable), kNothing);
}

}  // namespace

Prediction predict(const UsageModels& models, const PredictionInput& input, const PredictionConfig& config,
                   base::WallTime now) {
  Prediction out;
  PodPrediction& by_pod = out.by_pod;
  ClassPrediction& by_class = out.by_class;
  for (const PredictedPod& pod : input.pods) {
    if (!is_reclaimable(pod.priority) || pod.ending) continue;
    const Resources request = model::max(pod.request, kNothing);
    if (is_young(pod, config, now)) {
      ++by_pod.young;
      by_pod.unpredicted += request;
    } else if (const auto learned = models.peak(pod.uid)) {
      const Resources peak = with_margin(learned->peak, config);
      ++by_pod.predicted;
      by_pod.unreclaimable += peak;
      by_pod.reclaimable += model::max(request - peak, kNothing);
    } else {
      ++by_pod.without_model;
      by_pod.unpredicted += request;
      continue;
    }
    by_class.request += request;
  }

  if (!input.allocatable) {
    out.why = PredictionWhy::kNodeUnknown;
    return out;
  }
  const auto system = models.peak(kSystemModelKey);
  if (!system) {
    out.why = PredictionWhy::kSystemModelMissing;
    return out;
  }
  Resources expected = system->peak;
  for (const auto priority : {PriorityClass::kProd, PriorityClass::kNone}) {
    const auto learned = models.peak(class_model_key(priority));
    if (!learned) {
      out.why = PredictionWhy::kClassModelMissing;
      return out;
    }
    expected += learned->peak;
  }
  by_class.unreclaimable = with_margin(expected, config);
  by_class.reclaimable = bounded(*input.allocatable, by_class.unreclaimable, by_class.request - by_class.unreclaimable);
  by_pod.reclaimable = bounded(*input.allocatable, by_pod.unreclaimable, by_pod.reclaimable);
  out.reclaimable = model::min(by_pod.reclaimable, by_class.reclaimable);
  out.peak = model::max(by_pod.unreclaimable + by_pod.unpredicted, by_class.unreclaimable);
  return out;
}

}  // namespace tidemark::policy::sell

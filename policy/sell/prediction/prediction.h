// The part of the requests of online pods that will not be used (contract 7.13), from the peaks of the models:
//
//    peak × margin   trunc(peak × (100 + margin) / 100) in double precision
//
//    by pod          of class prod and none, not terminating and not terminated:
//                      older than kColdStart     reclaimable += max(request − peak, 0)    unreclaimable += peak
//                      younger                   unpredicted += request
//                      without a model           unpredicted += request, and it is no part of "by class"
//                    reclaimable = min(max(allocatable − unreclaimable, 0), reclaimable)
//    by class        unreclaimable = (system + prod + none) × margin
//                    reclaimable = min(max(allocatable − unreclaimable, 0), max(Σ request − unreclaimable, 0))
//
//    published       reclaimable: the smaller of both; peak: the larger of (unreclaimable + unpredicted) and the
//                    class's
//
// Each resource is separate. Without the node's size, or without one of the three models of "by class", there is no
// prediction.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "model/node_metric_report.h"
#include "model/qos.h"
#include "model/resources.h"
#include "policy/sell/prediction/models.h"

namespace tidemark::policy::sell {

inline constexpr base::Duration kColdStart = std::chrono::hours(24);
inline constexpr std::int64_t kSafetyMargin_percent = 10;

struct PredictionConfig {
  std::int64_t safety_margin_percent = kSafetyMargin_percent;  // counts as one of 0 … 100
  base::Duration cold_start = kColdStart;
};

// Those that are in the report: others have no samples to speak of.
struct PredictedPod {
  std::string_view uid;
  model::PriorityClass priority = model::PriorityClass::kNone;  // with default
  model::Resources request;                                     // the effective one
  base::WallTime created;
  bool ending = false;  // terminating, or terminated already
};

struct PredictionInput {
  std::optional<model::Resources> allocatable;  // the annotation raw-allocatable if present; nullopt: unknown
  std::span<const PredictedPod> pods;
};

enum class PredictionWhy : std::uint8_t { kPredicted, kNodeUnknown, kSystemModelMissing, kClassModelMissing };

struct PodPrediction {
  model::Resources reclaimable;
  model::Resources unreclaimable;
  model::Resources unpredicted;
  std::size_t predicted = 0;  // pods
  std::size_t young = 0;      // in their cold start
  std::size_t without_model = 0;
  bool operator==(const PodPrediction&) const = default;
};

struct ClassPrediction {
  model::Resources reclaimable;
  model::Resources unreclaimable;
  model::Resources request;
  bool operator==(const ClassPrediction&) const = default;
};

struct Prediction {
  PredictionWhy why = PredictionWhy::kPredicted;
  // The results of both methods, also if nothing is published.
  PodPrediction by_pod;
  ClassPrediction by_class;
  model::ReportedUsage reclaimable;
  model::ReportedUsage peak;
};

// Total, and never negative.
Prediction predict(const UsageModels& models, const PredictionInput& input, const PredictionConfig& config,
                   base::WallTime now);

}  // namespace tidemark::policy::sell

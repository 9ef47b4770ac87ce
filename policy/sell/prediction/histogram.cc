#include "policy/sell/prediction/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tidemark::policy::sell {
namespace {

// To the nearest multiple of the half-life, rounded up from the middle.
base::WallTime nearest_multiple(base::WallTime at, base::Duration half_life) {
  const std::int64_t unit = half_life.count();
  std::int64_t rest = at.since_epoch.count() % unit;
  if (rest < 0) rest += unit;
  const std::int64_t by = rest + rest < unit ? -rest : unit - rest;
  std::int64_t rounded = 0;
  if (__builtin_add_overflow(at.since_epoch.count(), by, &rounded)) return at;
  return {base::Duration(rounded)};
}

}  // namespace

double half_lives(base::WallTime a, base::WallTime b, base::Duration half_life) {
  std::int64_t apart = 0;
  if (__builtin_sub_overflow(a.since_epoch.count(), b.since_epoch.count(), &apart)) {
    apart = a > b ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  }
  return static_cast<double>(apart) / static_cast<double>(half_life.count());
}

std::size_t bucket_of(const HistogramShape& shape, double amount) {
  if (!(amount >= shape.first)) return 0;
  const double bucket = std::log(amount * (shape.ratio - 1) / shape.first + 1) / std::log(shape.ratio);
  if (!(bucket < static_cast<double>(shape.buckets))) return shape.buckets - 1;
  return static_cast<std::size_t>(bucket);
}

double bucket_start(const HistogramShape& shape, std::size_t bucket) {
  if (bucket == 0) return 0;
  return shape.first * (std::pow(shape.ratio, static_cast<double>(bucket)) - 1) / (shape.ratio - 1);
}

DecayingHistogram::DecayingHistogram(const HistogramShape& shape) : shape_(&shape), weights_(shape.buckets, 0.0) {}

double DecayingHistogram::weight_at(base::WallTime at) {
  if (!begun_) {
    reference_ = nearest_multiple(at, shape_->half_life);
    begun_ = true;
  }
  if (half_lives(at, reference_, shape_->half_life) > static_cast<double>(kHalfLivesMax)) {
    const base::WallTime next = nearest_multiple(at, shape_->half_life);
    const double exponent = std::floor(half_lives(reference_, next, shape_->half_life) + 0.5);
    // 2^−2000 is 0 in double precision, and so is all below.
    const double factor = std::ldexp(1.0, static_cast<int>(std::max(exponent, -2000.0)));
    for (double& each : weights_) each *= factor;
    total_ *= factor;
    reference_ = next;
  }
  return std::exp2(half_lives(at, reference_, shape_->half_life));
}

void DecayingHistogram::add(double amount, base::WallTime at) {
  const double weight = weight_at(at);
  weights_[bucket_of(*shape_, amount)] += weight;
  total_ += weight;
}

bool DecayingHistogram::empty() const {
  return std::ranges::none_of(weights_, [](double weight) { return weight >= kEpsilon; });
}

double DecayingHistogram::percentile(double p) const {
  const auto counts = [](double weight) { return weight >= kEpsilon; };
  const auto first = std::ranges::find_if(weights_, counts);
  if (first == weights_.end()) return 0;
  auto bucket = static_cast<std::size_t>(first - weights_.begin());
  std::size_t last = weights_.size() - 1;
  while (!counts(weights_[last])) --last;
  const double wanted = p * total_;
  double sum = 0;
  for (; bucket < last; ++bucket) {
    sum += weights_[bucket];
    if (sum >= wanted) break;
  }
  return bucket_start(*shape_, std::min(bucket + 1, weights_.size() - 1));
}

void DecayingHistogram::move_time(base::Duration by) {
  std::int64_t moved = 0;
  if (!begun_ || __builtin_add_overflow(reference_.since_epoch.count(), by.count(), &moved)) return;
  reference_ = {base::Duration(moved)};
}

void DecayingHistogram::restore(std::span<const double> weights, double total, base::WallTime reference) {
  std::ranges::copy(weights.first(std::min(weights.size(), weights_.size())), weights_.begin());
  total_ = total;
  reference_ = reference;
  begun_ = true;
}

}  // namespace tidemark::policy::sell

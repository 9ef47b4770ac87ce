// A histogram of use in which old samples count less (contract 7.13):
//
//    bucket b        holds amounts of [start(b), start(b + 1)), start(b) = first × (ratio^b − 1) / (ratio − 1)
//    bucket of x     0 below first, otherwise floor(log(x × (ratio − 1) / first + 1) / log(ratio)), at most the last
//    one weight at t     2^((t − reference) / half-life), added to its bucket
//    percentile p        the upper edge of the first bucket with which the sum of the buckets reaches p × total; of the
//                        last bucket its lower edge. Buckets of less than kEpsilon at either end count as empty.
//
// The reference is the multiple of the half-life that is nearest to the first sample; it moves when a weight would pass
// 2^100, and all weights are scaled with it. So only the ratio of weights matters, and a half-life without a sample
// changes no percentile.
//
// Double precision, as in Koordinator: between equal weights it decides for a bucket or the next. Dense, because a
// model has two of these and takes 3 KiB: see kModelBytesMax.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"

namespace tidemark::policy::sell {

struct HistogramShape {
  double first = 0;
  double ratio = 0;
  double most = 0;
  base::Duration half_life{0};
  std::size_t buckets = 0;  // ceil(log(most × (ratio − 1) / first + 1) / log(ratio)) + 1
};
inline constexpr double kHistogramRatio = 1.05;
inline constexpr HistogramShape kCpuShape{0.025, kHistogramRatio, 1024, std::chrono::hours(12), 158};  // cores
inline constexpr HistogramShape kMemoryShape{5.0 * 1024 * 1024, kHistogramRatio, 2199023255552.0,
                                             std::chrono::hours(24), 205};  // bytes, up to 2^41
inline constexpr double kEpsilon = 0.0001;
inline constexpr std::int64_t kHalfLivesMax = 100;  // from the reference

std::size_t bucket_of(const HistogramShape& shape, double amount);
double bucket_start(const HistogramShape& shape, std::size_t bucket);
// a − b; saturated if the times are further apart than 64 bits of nanoseconds.
double half_lives(base::WallTime a, base::WallTime b, base::Duration half_life);

class DecayingHistogram {
 public:
  explicit DecayingHistogram(const HistogramShape& shape);

  // Negative values and NaN count as 0. `at` may be earlier than a sample before: its weight is smaller then.
  void add(double amount, base::WallTime at);
  double percentile(double p) const;  // 0 if it is empty
  bool empty() const;

  const HistogramShape& shape() const { return *shape_; }
  base::WallTime reference() const { return reference_; }
  double total() const { return total_; }
  std::span<const double> weights() const { return weights_; }
  // All samples become younger (or older) by this.
  void move_time(base::Duration by);
  // As it was once; the caller has checked it: as many weights as the shape has, none negative, all finite.
  void restore(std::span<const double> weights, double total, base::WallTime reference);

  std::size_t bytes() const { return sizeof(DecayingHistogram) + weights_.capacity() * sizeof(double); }
  friend bool operator==(const DecayingHistogram& a, const DecayingHistogram& b) {
    return a.shape_ == b.shape_ && a.weights_ == b.weights_ && a.total_ == b.total_ && a.reference_ == b.reference_ &&
           a.begun_ == b.begun_;
  }

 private:
  double weight_at(base::WallTime at);

  const HistogramShape* shape_;
  std::vector<double> weights_;
  double total_ = 0;
  base::WallTime reference_;
  bool begun_ = false;
};

}  // namespace tidemark::policy::sell

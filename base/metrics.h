// Metrics with Prometheus text output. Names start with tidemark_, units are base units, labels come from a short list.
//
//   Registry registry;
//   Counter& patches = registry.counter("tidemark_manager_patches_total", "Patches sent.", {{"reason", "cut"}});
//   patches.add();
//
// A registry belongs to a component and is passed to it. Counters and gauges are atomic: any thread may add; making a
// new series takes a lock. References stay valid as long as the registry.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark::base {

class Counter {
 public:
  void add(std::uint64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  explicit Histogram(std::vector<double> upper_bounds);  // finite and rising; +Inf is always there
  void observe(double value);                            // a value on a bound counts below it; NaN is no observation
  struct Snapshot {
    std::vector<double> upper_bounds;
    std::vector<std::uint64_t> cumulative;  // one more than bounds: the last is +Inf
    double sum = 0;
  };
  Snapshot snapshot() const;

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Each page has its own scrape: offline metrics may go to a cheaper collector.
enum class Page : std::uint8_t {
  kAll,
  kComponent,  // about the program
  kOffline,    // families with the label `pool` or `class`: offers, use and evictions of offline work
};

class Registry {
 public:
  // Series of one name are bounded, so that a label gone wild cannot eat the process: past it one series
  // with every label value "overflow" takes the rest.
  static constexpr std::size_t kSeriesMax = 1000;
  static constexpr std::size_t kLabelValueMax = 256;  // bytes; the rest is cut

  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The same name and labels, in any order, answer the same object. A bug is: a name used with another kind or other
  // bounds, and a name that Prometheus does not take. The first help text stays.
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> upper_bounds,
                       Labels labels = {});

  // Prometheus text format 0.0.4; names and series sorted.
  std::string text(Page page = Page::kAll) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::base

#include "base/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::base {
namespace {

enum class Kind { kCounter, kGauge, kHistogram };
constexpr std::string_view kKindNames[] = {"counter", "gauge", "histogram"};

bool is_name(std::string_view name, bool colon_allowed) {
  const auto letter = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon_allowed && c == ':');
  };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
}

// Help has no quotes around it, so that only values escape them.
void append_escaped(std::string& out, std::string_view text, bool is_value) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && is_value) {
      out += "\\\"";
    } else {
      out.push_back(c);
    }
  }
}

// One value that is not UTF-8 makes a scraper refuse the whole page.
std::string clean(std::string_view value) {
  std::string kept(value.substr(0, Registry::kLabelValueMax));
  if (kept.size() < value.size()) {
    while (!kept.empty() && (static_cast<unsigned char>(value[kept.size()]) & 0xc0) == 0x80) kept.pop_back();
  }
  if (!valid_utf8(kept)) {
    for (char& c : kept) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
  }
  return kept;
}

// `a="x",b="y"` in the order of the names; what the series is found by and printed as.
std::string series_key(Labels labels, bool overflow) {
  std::vector<std::pair<std::string_view, std::string_view>> sorted(labels);
  std::ranges::sort(sorted);
  std::string key;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [name, value] = sorted[i];
    TM_CHECK(is_name(name, false) && !name.starts_with("__") && name != "le", "not a label name of ours to give");
    TM_CHECK(i == 0 || sorted[i - 1].first != name, "a label is given twice");
    if (!key.empty()) key.push_back(',');
    key += cat(name, "=\"");
    append_escaped(key, overflow ? std::string("overflow") : clean(value), true);
    key.push_back('"');
  }
  return key;
}

struct Series {
  Counter counter;
  Gauge gauge;
  std::unique_ptr<Histogram> histogram;
};

struct Family {
  Kind kind;
  Page page;
  std::string help;
  std::vector<double> bounds;
  std::map<std::string, std::unique_ptr<Series>> series;
};

Page page_of(Labels labels) {
  const bool offline =
      std::ranges::any_of(labels, [](const auto& label) { return label.first == "pool" || label.first == "class"; });
  return offline ? Page::kOffline : Page::kComponent;
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   std::string_view upper_bound = {}) {
  out += name;
  out += suffix;
  if (!labels.empty() || !upper_bound.empty()) {
    out.push_back('{');
    out += labels;
    if (!upper_bound.empty()) {
      if (!labels.empty()) out.push_back(',');
      out += cat("le=\"", upper_bound, "\"");
    }
    out.push_back('}');
  }
  out.push_back(' ');
}

void append_histogram(std::string& out, std::string_view name, std::string_view labels, const Histogram& histogram) {
  const Histogram::Snapshot now = histogram.snapshot();
  for (std::size_t i = 0; i < now.cumulative.size(); ++i) {
    std::string bound;
    append_number(bound, i < now.upper_bounds.size() ? now.upper_bounds[i] : HUGE_VAL);
    append_sample(out, name, "_bucket", labels, bound);
    out += cat(now.cumulative[i], '\n');
  }
  append_sample(out, name, "_sum", labels);
  append_number(out, now.sum);
  out.push_back('\n');
  append_sample(out, name, "_count", labels);
  out += cat(now.cumulative.back(), '\n');
}

}  // namespace

Histogram::Histogram(std::vector<double> upper_bounds)
    : bounds_(std::move(upper_bounds)), counts_(new std::atomic<std::uint64_t>[bounds_.size() + 1]()) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    TM_CHECK(std::isfinite(bounds_[i]), "+Inf is always there and need not be named");
    TM_CHECK(i == 0 || bounds_[i - 1] < bounds_[i], "bounds must rise");
  }
}

void Histogram::observe(double value) {
  if (std::isnan(value)) return;
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Snapshot Histogram::snapshot() const {
  Snapshot now{bounds_, {}, 0};
  now.cumulative.reserve(bounds_.size() + 1);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    now.cumulative.push_back(total);
  }
  now.sum = sum_.load(std::memory_order_relaxed);
  return now;
}

struct Registry::Impl {
  mutable std::mutex mutex;
  std::map<std::string, Family, std::less<>> families;

  Series& series(Kind kind, std::string_view name, std::string_view help, std::vector<double> bounds, Labels labels) {
    std::string key = series_key(labels, false);
    const std::lock_guard lock(mutex);
    auto family = families.find(name);
    if (family == families.end()) {
      TM_CHECK(is_name(name, true), "not a metric name");
      family = families.try_emplace(std::string(name), kind, page_of(labels), std::string(help), bounds).first;
    }
    auto& [family_kind, page, family_help, family_bounds, all] = family->second;
    TM_CHECK(family_kind == kind, "one metric name, two kinds");
    TM_CHECK(family_bounds == bounds, "one histogram name, two lists of bounds");
    auto found = all.find(key);
    if (found == all.end()) {
      if (all.size() >= kSeriesMax) key = series_key(labels, true);
      found = all.try_emplace(std::move(key)).first;
      if (found->second == nullptr) {
        found->second = std::make_unique<Series>();
        if (kind == Kind::kHistogram) found->second->histogram = std::make_unique<Histogram>(std::move(bounds));
      }
    }
    return *found->second;
  }
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter& Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  return impl_->series(Kind::kCounter, name, help, {}, labels).counter;
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  return impl_->series(Kind::kGauge, name, help, {}, labels).gauge;
}

Histogram& Registry::histogram(std::string_view name, std::string_view help, std::vector<double> upper_bounds,
                               Labels labels) {
  return *impl_->series(Kind::kHistogram, name, help, std::move(upper_bounds), labels).histogram;
}

std::string Registry::text(Page page) const {
  const std::lock_guard lock(impl_->mutex);
  std::string out;
  for (const auto& [name, family] : impl_->families) {
    if (page != Page::kAll && page != family.page) continue;
    out += cat("# HELP ", name, ' ');
    append_escaped(out, family.help, false);
    out += cat("\n# TYPE ", name, ' ', kKindNames[static_cast<int>(family.kind)], '\n');
    for (const auto& [labels, series] : family.series) {
      if (family.kind == Kind::kHistogram) {
        append_histogram(out, name, labels, *series->histogram);
        continue;
      }
      append_sample(out, name, "", labels);
      if (family.kind == Kind::kCounter) {
        out += cat(series->counter.value());
      } else {
        append_number(out, series->gauge.value());
      }
      out.push_back('\n');
    }
  }
  return out;
}

}  // namespace tidemark::base

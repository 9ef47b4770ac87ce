#include "hadoop/capacity_scheduler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kRoot = "yarn.scheduler.capacity.root";
constexpr std::int64_t kAmountMax = std::int64_t{1} << 50;
constexpr std::int64_t kMibPerGib = 1024, kBytesPerMib = 1 << 20;

struct Queue {
  std::string key;   // of its settings, with those of all above it
  Resource largest;  // that may be asked for in it
  std::optional<std::set<std::string>> labels{};
};

constexpr std::string_view kAnyLabel = "*";

bool is_larger(const Resource& a, const Resource& b) {
  return std::tie(a.memory_mib, a.vcores) > std::tie(b.memory_mib, b.vcores);
}

// A queue's own value applies even if its parent has less, up to the cluster's.
template <typename Amount>
Result<void> bound(const Site& scheduler, const std::string& key, Amount most, Amount& amount) {
  TM_TRY(const auto said, scheduler.text(key));
  if (!said || said->empty()) return {};
  const auto number = base::parse_int(*said);
  if (!number || *number < -1 || *number > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorKind::kInvalid, scheduler.place(key), ": ", key, " must be a number, found ",
                base::in_quotes(*said));
  }
  // −1 is Hadoop's word for none; Hadoop rejects more than the cluster's maximum at its start.
  if (*number >= 0) amount = std::min(most, static_cast<Amount>(*number));
  return {};
}

struct Amount {
  std::string_view of;
  std::int64_t number = 0;
  std::string_view unit;  // "", "m" or "g", large or small
};

// As in "memory-mb=2g".
std::optional<Amount> amount_of(std::string_view pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view number = base::trim(pair.substr(equals + 1));
  const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
  const std::string_view unit = base::trim(number.substr(digits));
  const auto value = base::parse_int(number.substr(0, digits));
  const bool known = unit.empty() || (unit.size() == 1 && std::string_view("mMgG").contains(unit.front()));
  if (!known || !value || *value > kAmountMax) return std::nullopt;
  return Amount{base::trim(pair.substr(0, equals)), *value, unit};
}

std::int64_t mib_of(const Amount& memory) {
  if (memory.unit == "g" || memory.unit == "G") return memory.number * kMibPerGib;
  return memory.of == "memory" && memory.unit.empty() ? memory.number / kBytesPerMib : memory.number;
}

// In one word, "memory-mb=2048,vcores=2". What that does not name may not be asked for at all. nullopt: it is not
// there.
Result<std::optional<Resource>> largest_in_a_word(const Site& scheduler, const std::string& key,
                                                  const Resource& cluster) {
  TM_TRY(const std::vector<std::string> pairs, scheduler.list(key));
  if (pairs.empty()) return std::nullopt;
  Resource largest;
  for (const std::string& pair : pairs) {
    const auto amount = amount_of(pair);
    if (!amount) {
      return fail(ErrorKind::kInvalid, scheduler.place(key), ": ", key,
                  " is to be amounts as in memory-mb=2048,vcores=2, found ", base::in_quotes(pair));
    }
    if (amount->of == "memory-mb" || amount->of == "memory") {
      largest.memory_mib = std::min(mib_of(*amount), cluster.memory_mib);
    } else if (amount->of == "vcores") {
      largest.vcores = static_cast<std::int32_t>(std::min<std::int64_t>(amount->number, cluster.vcores));
    }
  }
  return largest;
}

Result<void> bound_all(const Site& scheduler, const Resource& cluster, Queue& queue) {
  const std::string key = base::cat(queue.key, ".maximum-allocation");
  TM_TRY(auto in_a_word, largest_in_a_word(scheduler, key, cluster));
  if (in_a_word) {
    queue.largest = *std::move(in_a_word);
    return {};
  }
  TM_TRY_VOID(bound(scheduler, base::cat(key, "-mb"), cluster.memory_mib, queue.largest.memory_mib));
  return bound(scheduler, base::cat(key, "-vcores"), cluster.vcores, queue.largest.vcores);
}

// An empty value means no labels.
Result<void> read_labels(const Site& scheduler, Queue& queue) {
  const std::string key = base::cat(queue.key, ".accessible-node-labels");
  TM_TRY(const auto said, scheduler.text(key));
  if (!said || queue.key == kRoot) return {};
  TM_TRY(const std::vector<std::string> labels, scheduler.list(key));
  queue.labels.emplace(labels.begin(), labels.end());
  if (queue.labels->contains(std::string(kAnyLabel))) queue.labels.reset();
  return {};
}

void add_bound(std::vector<QueueBound>& bounds, Queue queue) {
  const auto same = std::ranges::find(bounds, queue.labels, &QueueBound::labels);
  if (same == bounds.end()) {
    bounds.push_back({std::move(queue.labels), std::move(queue.largest)});
  } else if (is_larger(queue.largest, same->largest)) {
    same->largest = std::move(queue.largest);
  }
}

}  // namespace

Result<std::vector<QueueBound>> queue_bounds(const Site& scheduler, const Resource& cluster) {
  std::vector<Queue> left{{std::string(kRoot), cluster}};
  std::vector<QueueBound> bounds;
  for (std::size_t looked = 0; !left.empty(); ++looked) {
    if (looked == kQueuesMax) return fail(ErrorKind::kExhausted, "more than ", kQueuesMax, " queues");
    Queue queue = std::move(left.back());
    left.pop_back();
    TM_TRY_VOID(bound_all(scheduler, cluster, queue));
    TM_TRY_VOID(read_labels(scheduler, queue));
    TM_TRY(const std::vector<std::string> below, scheduler.list(base::cat(queue.key, ".queues")));
    for (const std::string& name : below) {
      left.push_back({base::cat(queue.key, ".", name), queue.largest, queue.labels});
    }
    // Applications are only in leaf queues.
    if (below.empty()) add_bound(bounds, std::move(queue));
  }
  return bounds;
}

Resource largest_in(const std::vector<QueueBound>& bounds, std::string_view partition) {
  Resource largest;
  for (const QueueBound& each : bounds) {
    const bool may = partition.empty() || !each.labels || each.labels->contains(std::string(partition));
    if (may && is_larger(each.largest, largest)) largest = each.largest;
  }
  return largest;
}

}  // namespace tidemark::hadoop

#include "policy/single_node/local_queue_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/explain/overcommit_text.h"
#include "policy/single_node/local_queue.h"

namespace tidemark::policy::single_node {
namespace {

using base::cat;

enum class Unit { kCores, kBytes, kPlain };

// The unit of a resource, and the buyer.
struct Shown {
  std::string_view resource;
  Unit unit;
  std::string_view sold_to;  // "": it is the node's own
};
constexpr std::array kTold{Shown{"cpu", Unit::kCores, ""},
                           Shown{"memory", Unit::kBytes, ""},
                           Shown{"ephemeral-storage", Unit::kBytes, ""},
                           Shown{model::kBatchCpu, Unit::kCores, "batch"},
                           Shown{model::kBatchMemory, Unit::kBytes, "batch"},
                           Shown{model::kMidCpu, Unit::kCores, "mid"},
                           Shown{model::kMidMemory, Unit::kBytes, "mid"}};

Shown told(std::string_view resource) {
  const auto at = std::ranges::find(kTold, resource, &Shown::resource);
  return at == kTold.end() ? Shown{resource, Unit::kPlain, ""} : *at;
}

std::string_view short_name(const Shown& what) {
  if (what.sold_to.empty()) return what.resource;
  return what.resource.substr(what.resource.find('/') + 1);
}

// "1.2", to the thousandth: exact, so that different wanted and free amounts look different.
std::string exact_cores(std::int64_t milli) {
  constexpr std::int64_t kMilli = 1000;
  std::string out = cat(milli / kMilli);
  if (std::int64_t rest = milli % kMilli; rest != 0) {
    std::string digits = cat(kMilli + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    out += cat(".", digits);
  }
  return out;
}

// All amounts of a sentence in one unit: in bytes if tenths of a unit would hide the difference.
struct ShownAmounts {
  std::string wanted, free, sold;
};
ShownAmounts amounts(const QueueShort& each, Unit unit) {
  if (unit == Unit::kCores) {
    const std::string wanted = exact_cores(each.wanted);
    return {cat(wanted, wanted == "1" ? " core" : " cores"), exact_cores(each.free), exact_cores(each.sold)};
  }
  const bool close = explain::binary_text(each.wanted) == explain::binary_text(each.free) ||
                     explain::binary_text(each.wanted) == explain::binary_text(each.sold);
  const auto text = [&](std::int64_t amount) {
    return unit == Unit::kPlain || close ? cat(amount) : explain::binary_text(amount);
  };
  return {text(each.wanted), text(each.free), text(each.sold)};
}

std::string short_text(const QueueShort& each, bool node_is_empty) {
  const Shown what = told(each.resource);
  const ShownAmounts all = amounts(each, what.unit);
  std::string out = cat(short_name(what), ": ", all.wanted, " wanted, ");
  // As in the first seconds before a measurement, and if a machine is full or off.
  if (each.sold == 0 && !what.sold_to.empty()) return cat(out, "nothing is sold to ", what.sold_to, " now");
  out += node_is_empty ? cat("no more than ", all.sold) : cat(all.free, " free of ", all.sold);
  if (!what.sold_to.empty()) out += cat(" sold to ", what.sold_to);
  return node_is_empty ? out + " with nothing else on the node" : out;
}

std::string shorts_text(const std::vector<QueueShort>& shorts, bool node_is_empty) {
  std::vector<std::string> parts;
  for (const QueueShort& each : shorts) parts.push_back(short_text(each, node_is_empty));
  return base::join(parts, "; ");
}

std::string names_text(const std::vector<QueueShort>& shorts) {
  std::vector<std::string> names;
  for (const QueueShort& each : shorts) names.emplace_back(short_name(told(each.resource)));
  return base::join(names, " and ");
}

std::string seconds_text(base::Duration left) {
  return base::format_go_duration(std::chrono::ceil<std::chrono::seconds>(left));
}

std::string why_text(const QueueWait& wait) {
  switch (wait.reason) {
    case QueueReason::kGated:
      return "its scheduling gates are not removed";
    case QueueReason::kNoNode:
      return "the node does not exist yet";
    case QueueReason::kMismatch:
      return cat("the node does not match its ", wait.key);
    case QueueReason::kCordoned:
      return "the node is cordoned";
    case QueueReason::kTainted:
      return cat("it does not tolerate the node's taint ", wait.key);
    case QueueReason::kNotReady:
      return "the node is not ready";
    case QueueReason::kNotAllKnown:
      return "free resources are unknown: some pods cannot be read, or there are too many; the log "
             "of `tidemark up` names them";
    case QueueReason::kTooLarge:
      return shorts_text(wait.shorts, true);
    case QueueReason::kShort:
      return shorts_text(wait.shorts, false);
    case QueueReason::kBehind:
      return cat(wait.key, " has waited longer than ", base::format_go_duration(kPassedMax), " for ",
                 names_text(wait.shorts), ", and no other pod may overtake it any more");
    case QueueReason::kCoolingDown:
      return cat("offline work was evicted: none starts for another ", seconds_text(wait.left));
    case QueueReason::kOff:
      return "offline work is off or drains here: none starts until `tidemark on`, or `on "
             "--local` if it is off on the machine";
  }
  return "";
}

}  // namespace

std::string local_queue_text(const QueueWait& wait) {
  return cat("position ", wait.position, " of ", wait.of, ": ", why_text(wait));
}

std::string_view local_queue_condition_reason(QueueReason reason) {
  return reason == QueueReason::kGated ? "SchedulingGated" : "Unschedulable";
}

}  // namespace tidemark::policy::single_node

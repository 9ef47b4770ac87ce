#include "policy/render/suppress_text.h"

#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/cpu_list.h"
#include "policy/render/why.h"

namespace tidemark::policy {
namespace {

using base::cat;
using model::CpuMilli;

std::string milli_text(CpuMilli amount) {
  return cat(amount.value, "m");
}

std::string room_text(const SuppressRoom& room) {
  std::string out = cat(milli_text(room.capacity), " × ", room.line_percent, " % = ", milli_text(room.line), ", less ",
                        milli_text(room.online_pods), " of online pods, ", milli_text(room.online_applications),
                        " of online host applications and ", milli_text(room.system_part()),
                        " of the system (measured ", milli_text(room.measured_system), ", reserved ",
                        milli_text(room.reserved), "), leaves ", milli_text(room.room));
  if (room.least) out += cat(" (at least ", milli_text(*room.least), ")");
  return cat(out, "; offline work uses ", milli_text(room.offline), ". ");
}

bool by_cpus(const SuppressPlan& plan) {
  return plan.policy == SuppressPolicy::kCpuset;
}

std::string amount_text(const SuppressPlan& plan, std::int64_t amount) {
  if (by_cpus(plan)) return cat(amount, amount == 1 ? " processor" : " processors");
  return amount <= 0 ? std::string("no quota") : cat(amount, " us in 100 ms");
}

std::string in_force_text(const SuppressPlan& plan) {
  if (plan.left) return cat("No limit is in force; other work leaves it ", milli_text(*plan.left), " of the node.");
  if (!plan.policy) return plan.holds ? "Nothing is changed." : "No limit is in force.";
  const bool cpus = by_cpus(plan);
  const std::int64_t now = cpus ? static_cast<std::int64_t>(plan.cpus.size()) : plan.quota_us;
  std::string out = cat(plan.holds ? "It keeps " : "It has ", amount_text(plan, now));
  if (cpus) out += cat(" (", model::format_cpus(plan.cpus), ")");
  if (plan.each) out += ", per task, because the cgroup also has pods that are not offline";
  if (plan.found && *plan.found != now) out += cat(", before ", amount_text(plan, *plan.found));
  if (plan.wanted && *plan.wanted != now) {
    out += cat(", wanted ", amount_text(plan, *plan.wanted));
    if (cpus && plan.candidates && *plan.candidates < *plan.wanted) out += cat(" of ", *plan.candidates, " available");
  }
  return cat(out, ".");
}

std::string class_text(const ClassShare& share) {
  std::string out = cat("  ", share.name, ": ", share.tasks, share.tasks == 1 ? " task uses " : " tasks use ",
                        milli_text(share.used), ", wants ", milli_text(share.wants), ", has ", milli_text(share.share));
  if (share.cut) out += cat("; cut: ", why(model::Reason::kSuppressLowestFirst));
  if (share.satisfaction_permille) {
    const std::int64_t tenths = *share.satisfaction_permille;
    out += cat("; satisfied by ", tenths / 10, ".", tenths % 10, " %");
  }
  return cat(out, "\n");
}

Json room_json(const SuppressRoom& room) {
  Json out = Json::object({{"capacityMilli", room.capacity.value},
                           {"linePercent", room.line_percent},
                           {"lineMilli", room.line.value},
                           {"onlinePodsMilli", room.online_pods.value},
                           {"onlineApplicationsMilli", room.online_applications.value},
                           {"offlineMilli", room.offline.value},
                           {"systemMeasuredMilli", room.measured_system.value},
                           {"reservedMilli", room.reserved.value},
                           {"roomMilli", room.room.value}});
  if (room.least) out["leastMilli"] = Json(room.least->value);
  return out;
}

Json class_json(const ClassShare& share) {
  Json out = Json::object({{"class", Json(share.name)},
                           {"tasks", share.tasks},
                           {"usedMilli", share.used.value},
                           {"wantsMilli", share.wants.value},
                           {"shareMilli", share.share.value},
                           {"cut", Json(share.cut)}});
  if (share.satisfaction_permille) out["satisfactionPermille"] = Json(*share.satisfaction_permille);
  return out;
}

}  // namespace

std::string suppress_text(const SuppressPlan& plan) {
  std::string out = cat("cpu of offline work: ", why(plan.reason), ". ");
  if (plan.room) out += room_text(*plan.room);
  out += cat(in_force_text(plan), "\n");
  for (const ClassShare& each : plan.classes) out += class_text(each);
  return out;
}

Json suppress_json(const SuppressPlan& plan) {
  Json out = Json::object({{"reason", why_json(plan.reason)}, {"holds", Json(plan.holds)}});
  out["room"] = plan.room ? room_json(*plan.room) : Json(nullptr);
  if (plan.policy) {
    const bool cpus = by_cpus(plan);
    out["policy"] = Json(cpus ? "cpuset" : "cfsQuota");
    if (cpus) {
      out["cpus"] = Json(model::format_cpus(plan.cpus));
    } else {
      out["quotaMicroseconds"] = Json(plan.quota_us);
      if (plan.each) out["each"] = Json(true);
    }
  }
  if (plan.left) out["leftMilli"] = Json(plan.left->value);
  if (plan.wanted) out["wanted"] = Json(*plan.wanted);
  if (plan.found) out["found"] = Json(*plan.found);
  if (plan.candidates) out["candidates"] = Json(*plan.candidates);
  Json classes = Json::array();
  for (const ClassShare& each : plan.classes) classes.as_array().push_back(class_json(each));
  out["classes"] = std::move(classes);
  return out;
}

}  // namespace tidemark::policy

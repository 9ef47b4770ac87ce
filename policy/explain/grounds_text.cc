#include "policy/explain/grounds_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "policy/explain/budget_text.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/rollout_text.h"
#include "policy/explain/why.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

constexpr std::array<std::string_view, 4> kPlaces{"unknown", "everywhere", "reached", "kept"};
constexpr std::array<std::string_view, 4> kPhases{"settled", "canary", "soak", "fleet"};

std::string span(base::Duration length) {
  return base::format_go_duration(std::chrono::floor<std::chrono::seconds>(std::max(length, base::Duration(0))));
}

std::int64_t seconds(base::Duration length) {
  return std::chrono::floor<std::chrono::seconds>(length).count();
}

std::string_view side_name(sell::LedgerSide side) {
  return side == sell::LedgerSide::kYarn ? "YARN" : "Kubernetes";
}

std::string settings_text(const SettingsGround& settings) {
  std::string out = cat("settings: ", settings.hash, ", pool ", settings.pool,
                        settings.canary ? ", which gets new settings first" : "", "\n");
  if (settings.place == SettingsGround::Place::kUnknown) return out;
  out += cat("  revision ", settings.name);
  if (settings.taken) out += cat(", taken at ", base::format_rfc3339(*settings.taken));
  switch (settings.place) {
    case SettingsGround::Place::kUnknown:
    case SettingsGround::Place::kEverywhere:
      out += " in force on every node\n";
      break;
    case SettingsGround::Place::kReached:
      out += cat(", has reached this node; it is being rolled out: ", rollout_phase_text(settings.phase), "\n");
      break;
    case SettingsGround::Place::kKept:
      out += cat(", still in force here while ", settings.target,
                 " is being rolled out: ", rollout_phase_text(settings.phase), "\n");
      break;
  }
  if (settings.hold) {
    out += cat("  paused since ", base::format_rfc3339(settings.hold->since), ": ", why(settings.hold->reason), "\n");
  }
  return out;
}

std::string evictions_text(const EvictionGround& evictions, base::WallTime now) {
  std::string out = "evictions of the pool: ";
  if (!evictions.known) {
    out += "a newer version counts them; the limits are unknown here: offers are only cut";
  } else if (evictions.breaker) {
    out += breaker_text(*evictions.breaker, now);
  } else {
    out += evictions.guard.stopped ? "sells nothing new" : "no limit reached";
  }
  if (evictions.guard.truthful) out += cat("; ", why(model::Reason::kBudgetOverReportGivenUp));
  out += "\n";
  if (evictions.back_off == base::Duration(0)) return out;
  if (!evictions.evicted_ago) {
    return out + cat("  after an eviction a node backs off for ", span(evictions.back_off),
                     "; no eviction of this node is known\n");
  }
  const base::Duration left = evictions.back_off - *evictions.evicted_ago;
  out += cat("  offline work of ", side_name(evictions.side), " on this node was evicted ",
             span(*evictions.evicted_ago), " ago (", evictions.told_by, "): ");
  if (left <= base::Duration(0)) return out + cat("more than the ", span(evictions.back_off), " that it backs off\n");
  return out + cat("backs off for another ", span(left), "\n");
}

// As measure() of policy/sell/overcommit counts it.
model::Reason counted_by(const YoungPod& pod) {
  return pod.expected && pod.reported ? model::Reason::kSafeWarmUpProfile : model::Reason::kSafeWarmUpRequest;
}

std::string young_text(const std::vector<YoungPod>& young) {
  if (young.empty()) return "";
  std::string out = "young pods:\n";
  for (const YoungPod& pod : young) {
    out +=
        cat("  ", pod.name.empty() ? std::string_view("a pod") : std::string_view(pod.name), ": ", pod.left_permille,
            " ‰ of its ramp left, requests ", amount_text(pod.request.cpu), " and ", amount_text(pod.request.memory));
    if (pod.expected) {
      out += cat(", about to use ", amount_text(pod.expected->cpu), " and ", amount_text(pod.expected->memory));
      if (!pod.workload.empty()) out += cat(" as ", pod.workload, " does at this hour (", pod.profile, ")");
    } else if (!pod.workload.empty()) {
      out += cat(", no history of ", pod.workload, " at this hour");
    }
    out += cat(pod.reported ? "" : ", not reported yet", ": ", why(counted_by(pod)), "\n");
  }
  return out;
}

Json resources_json(const model::Resources& amount) {
  return Json::object({{"cpu", amount.cpu.value}, {"memory", amount.memory.value}});
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json settings_json(const SettingsGround& settings) {
  const auto place = static_cast<std::size_t>(settings.place);
  Json out = Json::object({{"hash", Json(settings.hash)},
                           {"name", text_or_null(settings.name)},
                           {"canary", Json(settings.canary)},
                           {"here", Json(kPlaces.at(place))}});
  if (settings.taken) out["taken"] = Json(base::format_rfc3339(*settings.taken));
  if (!settings.target.empty()) {
    out["rollingOut"] = Json::object(
        {{"name", Json(settings.target)}, {"phase", Json(kPhases.at(static_cast<std::size_t>(settings.phase)))}});
  }
  if (settings.hold) {
    out["held"] = Json::object(
        {{"since", Json(base::format_rfc3339(settings.hold->since))}, {"reason", why_json(settings.hold->reason)}});
  }
  return out;
}

Json evictions_json(const EvictionGround& evictions) {
  Json out = Json::object({{"known", Json(evictions.known)},
                           {"breaker", evictions.breaker ? breaker_json(*evictions.breaker) : Json(nullptr)},
                           {"stopped", Json(evictions.guard.stopped)},
                           {"overReportGivenUp", Json(evictions.guard.truthful)},
                           {"backOffSeconds", seconds(evictions.back_off)}});
  out["last"] = Json(nullptr);
  if (evictions.evicted_ago) {
    const base::Duration left = std::max(evictions.back_off - *evictions.evicted_ago, base::Duration(0));
    out["last"] = Json::object({{"secondsAgo", seconds(*evictions.evicted_ago)},
                                {"side", Json(evictions.side == sell::LedgerSide::kYarn ? "yarn" : "kubernetes")},
                                {"toldBy", Json(evictions.told_by)},
                                {"backsOffSeconds", std::chrono::ceil<std::chrono::seconds>(left).count()}});
  }
  return out;
}

Json young_json(const std::vector<YoungPod>& young) {
  Json out = Json::array();
  for (const YoungPod& pod : young) {
    out.as_array().push_back(Json::object({{"pod", text_or_null(pod.name)},
                                           {"workload", text_or_null(pod.workload)},
                                           {"leftPermille", pod.left_permille},
                                           {"request", resources_json(pod.request)},
                                           {"expected", pod.expected ? resources_json(*pod.expected) : Json(nullptr)},
                                           {"profile", text_or_null(pod.profile)},
                                           {"reported", Json(pod.reported)},
                                           {"reason", why_json(counted_by(pod))}}));
  }
  return out;
}

}  // namespace

SettingsGround settings_ground(const settings::Stored& stored, const settings::RolloutState& state,
                               std::string_view hash, bool canary) {
  using Place = SettingsGround::Place;
  SettingsGround ground;
  ground.hash = hash;
  ground.canary = canary;
  ground.name = revision_name(stored.book, hash);
  if (const auto* revision = settings::find_revision(stored.book, hash)) ground.taken = revision->taken;
  ground.place = Place::kEverywhere;
  if (state.layers.size() > 1) {
    ground.place = hash == state.target() ? Place::kReached : Place::kKept;
    ground.target = revision_name(stored.book, state.target());
    ground.phase = state.phase;
    ground.hold = state.hold;
  }
  return ground;
}

YoungPod young_pod(const model::PodView& pod, const model::NodeSnapshot& node) {
  YoungPod young;
  young.request = pod.request;
  if (pod.warm_up) {
    young.left_permille = pod.warm_up->left_permille;
    young.expected = pod.warm_up->expected;
  }
  young.reported =
      node.metric && std::ranges::find(node.metric->pods, pod.id, &model::PodUsage::id) != node.metric->pods.end();
  return young;
}

std::string render_text(const Grounds& grounds) {
  return settings_text(grounds.settings) + evictions_text(grounds.evictions, grounds.now) + young_text(grounds.young);
}

void add_json(Json& into, const Grounds& grounds) {
  into["pool"] = Json(grounds.settings.pool);
  into["settings"] = Json(grounds.settings.hash);
  into["revision"] = settings_json(grounds.settings);
  into["evictions"] = evictions_json(grounds.evictions);
  into["youngPods"] = young_json(grounds.young);
}

}  // namespace tidemark::policy::explain

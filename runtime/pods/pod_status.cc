#include "runtime/pods/pod_status.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::runtime {
namespace {

constexpr std::string_view kAddress = "127.0.0.1";
constexpr std::string_view kIdScheme = "tidemark://";
constexpr std::int32_t kStartErrorCode = 128;
constexpr std::string_view kWithMachine = "the machine ended, and the container with it";

std::string_view reason_of(const ShimEnded& ended, bool out_of_memory) {
  if (!ended.cannot_begin.empty()) return "StartError";
  if (out_of_memory) return "OOMKilled";
  return ended.exit_code == 0 ? "Completed" : "Error";
}

void terminated(base::JsonWriter& out, const ShimEnded& ended, bool out_of_memory, std::string_view id) {
  out.key("terminated").begin_object();
  out.member("exitCode", ended.cannot_begin.empty() ? ended.exit_code : std::int64_t{kStartErrorCode});
  if (ended.signal > 0) out.member("signal", ended.signal);
  out.member("reason", reason_of(ended, out_of_memory));
  if (ended.with_machine) {
    out.member("message", kWithMachine);
  } else if (!ended.cannot_begin.empty()) {
    out.member("message", ended.cannot_begin);
  }
  out.member("startedAt", base::format_rfc3339(ended.began)).member("finishedAt", base::format_rfc3339(ended.ended));
  out.member("containerID", base::cat(kIdScheme, id)).end_object();
}

void state(base::JsonWriter& out, const policy::single_node::ContainerShown& shown, const ContainerTold& told) {
  out.key("state").begin_object();
  if (!shown.waits_for.empty() || (!told.running && !told.ended)) {
    out.key("waiting").begin_object();
    out.member("reason", shown.waits_for.empty() ? std::string_view("ContainerCreating") : shown.waits_for);
    const std::string& why = told.ended && told.not_made.empty() ? told.ended->cannot_begin : told.not_made;
    if (!why.empty()) out.member("message", why);
    out.end_object();
  } else if (told.ended) {
    terminated(out, *told.ended, told.out_of_memory, told.id);
  } else {
    out.key("running").begin_object().member("startedAt", base::format_rfc3339(told.running->began)).end_object();
  }
  out.end_object();
}

// Of one that waits to begin again the newest attempt is the last one.
void last_state(base::JsonWriter& out, const policy::single_node::ContainerShown& shown, const ContainerTold& told) {
  out.key("lastState").begin_object();
  if (told.ended && !shown.waits_for.empty()) {
    terminated(out, *told.ended, told.out_of_memory, told.id);
  } else if (told.before) {
    terminated(out, *told.before, false, told.before_id);
  }
  out.end_object();
}

bool ended_with_machine(const PodTold& told) {
  return std::ranges::any_of(told.containers,
                             [](const ContainerTold& one) { return one.ended && one.ended->with_machine; });
}

void statuses(base::JsonWriter& out, std::string_view key, const PodTold& told, bool init) {
  out.key(key).begin_array();
  for (std::size_t i = 0; i < told.pod.containers.size(); ++i) {
    const RunContainer& container = told.pod.containers[i];
    if ((container.role != policy::single_node::LifeRole::kMain) != init) continue;
    const policy::single_node::ContainerShown& shown = told.life.containers[i];
    out.begin_object().member("name", container.name);
    state(out, shown, told.containers[i]);
    last_state(out, shown, told.containers[i]);
    out.member("ready", shown.ready).member("restartCount", std::int64_t{told.containers[i].restarts});
    out.member("image", container.image).member("imageID", std::string_view());
    if (!told.containers[i].id.empty()) out.member("containerID", base::cat(kIdScheme, told.containers[i].id));
    out.member("started", shown.started).end_object();
  }
  out.end_array();
}

}  // namespace

base::WallTime ConditionTimes::of(std::string_view type, bool status, base::WallTime now) {
  const auto [found, added] = turns_.try_emplace(std::string(type), Turn{status, now});
  if (!added && found->second.status != status) found->second = {status, now};
  return found->second.since;
}

std::string pod_status(const PodTold& told, ConditionTimes& times, base::WallTime now) {
  std::string text;
  base::JsonWriter out(text);
  out.begin_object();
  out.member("phase", model::to_string(told.life.phase));
  if (!told.reason.empty()) out.member("reason", told.reason).member("message", told.message);
  out.key("conditions").begin_array();
  const bool over = told.life.over;
  const auto condition = [&](std::string_view type, bool status, std::string_view why) {
    out.begin_object().member("type", type).member("status", std::string_view(status ? "True" : "False"));
    // A reason of before goes with null: members of a condition are merged.
    status ? out.key("reason").null() : out.member("reason", why);
    out.member("lastTransitionTime", base::format_rfc3339(times.of(type, status, now))).end_object();
  };
  const bool completed = told.life.phase == model::PodPhase::kSucceeded;
  const std::string_view not_ready = completed ? "PodCompleted" : over ? "PodFailed" : "ContainersNotReady";
  condition("PodScheduled", true, "");
  condition("Initialized", told.life.initialized, "ContainersNotInitialized");
  condition("ContainersReady", told.life.ready, not_ready);
  condition("Ready", told.life.ready, not_ready);
  // As of one that was evicted: rules of Jobs take it for no failure.
  if (over && !completed && ended_with_machine(told)) {
    out.begin_object().member("type", "DisruptionTarget").member("status", "True");
    out.member("reason", "NodeReboot").member("message", kWithMachine);
    out.member("lastTransitionTime", base::format_rfc3339(times.of("DisruptionTarget", true, now))).end_object();
  }
  out.end_array();
  out.member("hostIP", kAddress).member("podIP", kAddress);
  out.key("podIPs").begin_array().begin_object().member("ip", kAddress).end_object().end_array();
  out.member("startTime", base::format_rfc3339(told.started));
  out.member("qosClass", model::to_string(told.pod.qos));
  statuses(out, "initContainerStatuses", told, true);
  statuses(out, "containerStatuses", told, false);
  out.end_object();
  return text;
}

}  // namespace tidemark::runtime

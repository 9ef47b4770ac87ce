#include "embedded/agent_trouble.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "agent/protect/status.h"
#include "base/json.h"
#include "base/text.h"
#include "model/isolation.h"

namespace tidemark::embedded {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);

// Without cgroups no agent can have set a limit. With any other error, limits of an earlier agent may still be set.
std::string_view reason_of(const Error& error) {
  return error.kind == ErrorKind::kNotFound ? model::kNoGroups : model::kUnable;
}

// As the agent would say it.
std::string message_of(const std::string& why, const std::optional<agent::Latch>& drawn) {
  if (!drawn) return why;
  return base::cat(why, "; switched off on this machine", agent::ordered_text(drawn->by, drawn->why),
                   drawn->trouble.empty() ? "" : "; the switch cannot be read: ", drawn->trouble);
}

std::string condition(std::string_view reason, bool off, const std::string& message, base::WallTime at) {
  const std::string now = base::format_rfc3339(at);
  std::string body;
  base::JsonWriter out(body);
  out.begin_object().key("status").begin_object().key("conditions").begin_array().begin_object();
  out.member("type", model::kIsolationCondition).member("status", std::string_view(off ? "True" : "False"));
  out.member("reason", reason);
  out.member("message", message).member("lastHeartbeatTime", now).member("lastTransitionTime", now);
  out.end_object().end_array().end_object().end_object();
  return body;
}

}  // namespace

net::Task<void> AgentTrouble::tell(const ComponentSurroundings& around, const Error& error) {
  std::string why = error.message;
  if (std::exchange(logged_, why) != why) {
    around.log.error(
        "cannot start the agent; this machine is not measured, offers nothing and limits nothing; retrying",
        {{"error", why}});
  }
  const auto drawn = look_at_switch(around.log);
  std::string message = message_of(why, drawn);
  if (told_ == message) co_return;
  kube::WriteOptions options;
  options.subresource = "status";
  // Fails until the runtime has created the node.
  const auto told =
      co_await around.client.patch(kube::kNodes, node_name_, kube::PatchType::kStrategicMerge,
                                   condition(reason_of(error), drawn.has_value(), message, around.loop.clock().wall()),
                                   std::move(options), kCallLimit);
  if (!told) co_return;
  told_ = std::move(message);
}

// Reads the latch as an agent does before it copies it.
std::optional<agent::Latch> AgentTrouble::look_at_switch(const base::Log& log) {
  std::string unseen;
  std::optional<agent::Latch> drawn;
  for (const std::string& path : {agent::run_latch(places_.run_dir), places_.latch_file}) {
    auto seen = agent::see_latch(path, as_root_);
    if (!seen) {
      unseen += base::cat(unseen.empty() ? "" : "; ", seen.error().message);
    } else if (!drawn) {
      drawn = std::move(*seen);
    }
  }
  if (std::exchange(unseen_, unseen) != unseen && !unseen.empty()) {
    log.warn("whether this machine is switched off cannot be seen, and counts as not", {{"error", unseen}});
  }
  return drawn;
}

}  // namespace tidemark::embedded

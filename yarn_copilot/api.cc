#include "yarn_copilot/api.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "copilot/container.h"
#include "copilot/yarn_id.h"
#include "yarn_copilot/victims.h"
#include "yarn_copilot/words.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr int kOk = 200, kAccepted = 202, kBadRequest = 400, kForbidden = 403, kNotFound = 404, kNotAllowed = 405,
              kTooMany = 429, kInternalError = 500, kNotImplemented = 501, kUnavailable = 503;
constexpr std::string_view kJson = "application/json", kJsonLines = "application/jsonl";
constexpr base::Duration kReaderLimit = std::chrono::seconds(10);
// Long enough that the next poll of a listener does not get the previous answer.
constexpr base::Duration kSooner = std::chrono::milliseconds(1);
constexpr std::string_view kRoutes =
    "there are GET /health, /information, /v1/containers, /v1/container, /tidemark/v1/containers, /tidemark/v1/limits, "
    "/tidemark/v1/disks, /tidemark/v1/events and /metrics, and POST /v1/killContainer, /v1/killContainersByResource, "
    "/tidemark/v1/stop, /tidemark/v1/limits and /tidemark/v1/permit\n";
constexpr std::array<std::string_view, 6> kOwnPaths = {"/tidemark/v1/containers", "/tidemark/v1/limits",
                                                       "/tidemark/v1/disks",      "/tidemark/v1/events",
                                                       "/tidemark/v1/stop",       "/tidemark/v1/permit"};

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return kBadRequest;
    case ErrorKind::kNotFound:
    case ErrorKind::kGone:
      return kNotFound;
    case ErrorKind::kDenied:
      return kForbidden;
    case ErrorKind::kExhausted:
      return kTooMany;
    case ErrorKind::kUnavailable:
    case ErrorKind::kDeadline:
      return kUnavailable;
    case ErrorKind::kUnsupported:
      return kNotImplemented;
    default:
      return kInternalError;
  }
}

std::string error_body(std::string_view message) {
  std::string out;
  base::JsonWriter(out).begin_object().member("error", message).end_object();
  return out;
}

std::string items_body(const std::vector<copilot::Container>& items) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().key("items").begin_array();
  for (const copilot::Container& each : items) copilot::write(writer, each);
  writer.end_array().end_object();
  return out;
}

std::string asker_of(const net::Peer& peer) {
  if (!peer.unix_credentials) return peer.address;
  return base::cat("uid ", peer.unix_credentials->uid, " pid ", peer.unix_credentials->pid);
}

std::string event_line(std::string_view type, const SeenContainer& seen, std::optional<base::WallTime> stop,
                       base::WallTime now) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("type", type).member("time", base::format_rfc3339(now)).key("container");
  write_seen(writer, seen, stop);
  writer.end_object();
  out += '\n';
  return out;
}

std::string away_line(const Error& error, base::WallTime now) {
  std::string out;
  base::JsonWriter(out)
      .begin_object()
      .member("type", "away")
      .member("time", base::format_rfc3339(now))
      .member("error", error.message)
      .end_object();
  out += '\n';
  return out;
}

// Looks up only names that YARN could give, in cgroups and processes.
Result<void> check_container(std::string_view id) {
  if (copilot::parse_yarn_container(id)) return {};
  return fail(ErrorKind::kInvalid, base::in_quotes(id), " is not a YARN container id");
}

// The fields whose change makes an event line. Usage is excluded: it always changes.
struct Told {
  std::string state;
  bool has_group = false, began = false;
  std::optional<base::WallTime> stop;
  bool operator==(const Told&) const = default;
};

}  // namespace

Api::Api(net::EventLoop& loop, ApiOutside outside, base::Log log, ApiConfig config)
    : loop_(loop),
      outside_(outside),
      log_(std::move(log)),
      config_(std::move(config)),
      requests_(outside.metrics.counter("tidemark_yarn_copilot_requests_total", "Requests of clients.")),
      refused_(outside.metrics.counter("tidemark_yarn_copilot_refused_requests_total",
                                       "Requests answered with an error, or from a user without permission.")),
      looked_(loop, config_.event_interval - kSooner, [this] { return look(); }) {}

net::Task<Result<Api::Look>> Api::look() {
  TM_CO_TRY(auto running, co_await outside_.containers.running(Detail::kUse));
  co_return std::make_shared<const std::vector<SeenContainer>>(std::move(running));
}

net::Task<void> Api::answer(net::HttpExchange& exchange) {
  requests_.add();
  const auto& credentials = exchange.peer().unix_credentials;
  if (!credentials || !config_.users.contains(credentials->uid)) {
    refused_.add();
    log_.warn("refused a request: its user has no permission",
              {{"asker", asker_of(exchange.peer())}, {"target", exchange.head().target}});
    exchange.respond(
        kForbidden, kJson,
        error_body(base::cat(asker_of(exchange.peer()), " is not allowed here; add the user to --allow-users")));
    co_return;
  }
  const auto target = net::parse_target(exchange.head().target);
  if (!target) {
    exchange.respond(kBadRequest, kJson, error_body("invalid request target"));
    co_return;
  }
  const std::string asked = base::cat(exchange.head().method, " ", target->path);
  if (asked == "GET /metrics") {
    exchange.respond(kOk, "text/plain; version=0.0.4; charset=utf-8", outside_.metrics.text());
  } else if (target->path.starts_with("/tidemark/")) {
    co_await answer_own(exchange, *target, asked);
  } else {
    co_await answer_peer(exchange, *target, asked);
  }
}

net::Task<void> Api::answer_peer(net::HttpExchange& exchange, const net::Target& target, std::string_view asked) {
  Result<std::string> out = fail(ErrorKind::kInvalid, "no request");
  if (asked == "GET /health") {
    out = R"("ok")";
  } else if (asked == "GET /information") {
    out = R"({"name":"yarn","version":"v1"})";
  } else if (asked == "GET /v1/containers") {
    out = co_await list();
  } else if (asked == "GET /v1/container") {
    out = co_await one(std::string(target.get("containerID")));
  } else if (asked == "POST /v1/killContainer" || asked == "POST /v1/killContainersByResource") {
    auto body = co_await exchange.body(kAskedBytesMax);
    if (!body) {
      out = fail(std::move(body).error());
    } else if (asked == "POST /v1/killContainer") {
      out = co_await kill(*std::move(body), asker_of(exchange.peer()));
    } else {
      out = co_await kill_by_resource(*std::move(body), asker_of(exchange.peer()));
    }
  } else {
    refused_.add();
    exchange.respond(kNotFound, "text/plain", std::string(kRoutes));
    co_return;
  }
  if (!out) refused_.add();
  if (out) {
    exchange.respond(kOk, kJson, *std::move(out));
  } else {
    exchange.respond(kBadRequest, kJson, error_body(out.error().message));
  }
}

net::Task<void> Api::answer_own(net::HttpExchange& exchange, const net::Target& target, std::string_view asked) {
  if (asked == "GET /tidemark/v1/events") {
    co_await stream(exchange);
    co_return;
  }
  Result<std::string> out = fail(ErrorKind::kInvalid, "no request");
  int status = kOk;
  const std::string id(target.get("containerID"));
  if (asked == "GET /tidemark/v1/containers") {
    out = co_await list_seen();
  } else if (asked == "GET /tidemark/v1/limits") {
    out = co_await limits(id);
  } else if (asked == "GET /tidemark/v1/disks") {
    out = disks();
  } else if (asked == "POST /tidemark/v1/stop" || asked == "POST /tidemark/v1/limits" ||
             asked == "POST /tidemark/v1/permit") {
    auto body = co_await exchange.body(kAskedBytesMax);
    if (!body) {
      out = fail(std::move(body).error());
    } else if (asked == "POST /tidemark/v1/stop") {
      status = kAccepted;
      out = co_await stop(*std::move(body), asker_of(exchange.peer()));
    } else if (asked == "POST /tidemark/v1/permit") {
      out = take_permit(*body);
    } else {
      out = co_await set_limits(*std::move(body), asker_of(exchange.peer()));
    }
  } else {
    refused_.add();
    const bool known = std::ranges::find(kOwnPaths, target.path) != kOwnPaths.end();
    exchange.respond(known ? kNotAllowed : kNotFound, "text/plain", std::string(kRoutes));
    co_return;
  }
  if (!out) refused_.add();
  if (out) {
    exchange.respond(status, kJson, *std::move(out));
  } else {
    exchange.respond(status_of(out.error().kind), kJson, error_body(out.error().message));
  }
}

net::Task<Result<std::string>> Api::list() {
  TM_CO_TRY(const auto running, co_await outside_.containers.running(Detail::kPlain));
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_array();
  for (const SeenContainer& each : running) {
    copilot::Container told = to_container(each, config_.queues);
    if (outside_.local != nullptr) told.held = outside_.local->held_by(each.said.id);
    copilot::write(writer, told);
  }
  writer.end_array();
  co_return out;
}

net::Task<Result<std::string>> Api::list_seen() {
  TM_CO_TRY(const auto running, co_await outside_.containers.running(Detail::kUse));
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().key("containers").begin_array();
  for (const SeenContainer& each : running) {
    const auto local = outside_.local == nullptr ? std::nullopt : outside_.local->bytes_of(each.said.id);
    write_seen(writer, each, outside_.ends.deadline(each.said.id), local);
  }
  writer.end_array().end_object();
  co_return out;
}

net::Task<Result<std::string>> Api::one(std::string id) {
  TM_CO_TRY(const SeenContainer seen, co_await outside_.containers.one(std::move(id), Detail::kPlain));
  std::string out;
  base::JsonWriter writer(out);
  copilot::write(writer, to_container(seen, config_.queues));
  co_return out;
}

net::Task<Result<std::string>> Api::kill(std::string body, std::string asker) {
  TM_CO_TRY(const std::string id, read_kill(body));
  TM_CO_TRY_VOID(check_container(id));
  // A kill is urgent and must not wait for a NodeManager that hangs: a container that was listed is not requested
  // again. Its cgroup, or processes with its name, decide.
  auto seen = outside_.containers.remembered(id);
  if (!seen) {
    auto listed = co_await outside_.containers.one(id, Detail::kPlain);
    if (!listed && listed.error().kind == ErrorKind::kNotFound) co_return fail(std::move(listed).error());
    seen.emplace();
    seen->said.id = id;
    seen->group = outside_.machine.group_of(id);
    if (listed) seen = *std::move(listed);
  }
  TM_CO_TRY([[maybe_unused]] const auto ended,
            co_await outside_.ends.kill({.id = id, .reason = {}, .asker = std::move(asker)}));
  co_return items_body({to_container(*seen, config_.queues)});
}

net::Task<Result<std::string>> Api::kill_by_resource(std::string body, std::string asker) {
  TM_CO_TRY(const model::Resources wanted, read_kill_by_resource(body));
  TM_CO_TRY(const auto running, co_await outside_.containers.running(Detail::kPlain));
  std::vector<Candidate> candidates;
  for (const SeenContainer& each : running) {
    candidates.push_back({each.said.id, each.holds(), each.master(), each.began});
  }
  std::vector<copilot::Container> killed;
  std::optional<Error> trouble;
  for (const std::size_t at : choose_victims(candidates, wanted)) {
    EndOrder order{.id = candidates[at].id, .reason = "by resource", .asker = asker};
    const auto ended = co_await outside_.ends.kill(std::move(order));
    if (ended) {
      killed.push_back(to_container(running[at], config_.queues));
    } else if (!trouble) {
      trouble = ended.error();
    }
  }
  if (killed.empty() && trouble) co_return fail(*std::move(trouble));
  co_return items_body(killed);
}

net::Task<Result<std::string>> Api::stop(std::string body, std::string asker) {
  TM_CO_TRY(StopOrder order, read_stop(body));
  TM_CO_TRY_VOID(check_container(order.id));
  TM_CO_TRY(const base::WallTime until,
            co_await outside_.ends.stop({order.id, std::move(order.reason), std::move(asker)}, order.grace));
  std::string out;
  base::JsonWriter(out)
      .begin_object()
      .member("containerID", order.id)
      .member("killedAt", base::format_rfc3339(until))
      .end_object();
  co_return out;
}

net::Task<Result<std::string>> Api::limits(std::string id) {
  TM_CO_TRY_VOID(check_container(id));
  TM_CO_TRY(const Limits found, outside_.machine.limits(id));
  std::string out;
  base::JsonWriter writer(out);
  write_limits(writer, id, found);
  co_return out;
}

Result<std::string> Api::disks() const {
  std::string out;
  base::JsonWriter writer(out);
  outside_.disks.write(writer);
  return out;
}

Result<std::string> Api::take_permit(std::string_view body) {
  TM_TRY(const copilot::LimitPermit permit, read_permit(body));
  outside_.disks.set_permit(permit);
  std::string out;
  base::JsonWriter(out).begin_object().member("says", outside_.disks.says()).end_object();
  return out;
}

net::Task<Result<std::string>> Api::set_limits(std::string body, std::string asker) {
  TM_CO_TRY(const LimitOrder order, read_limits(body));
  TM_CO_TRY_VOID(check_container(order.id));
  std::string before, out;
  if (const auto found = outside_.machine.limits(order.id)) {
    base::JsonWriter writer(before);
    write_limits(writer, order.id, *found);
  }
  const auto now = outside_.machine.set_limits(order.id, order.limits);
  if (now) {
    base::JsonWriter writer(out);
    write_limits(writer, order.id, *now);
  }
  if (outside_.audit) {
    model::AuditLine line;
    line.time = loop_.clock().wall();
    line.actor = base::cat("yarn-copilot for ", asker);
    line.verb = "limit";
    line.kind = "YarnContainer";
    line.name = order.id;
    line.old_value = before;
    line.new_value = now ? out : body;
    if (!now) line.outcome = model::AuditOutcome::kRefused;
    if (!now) line.detail = now.error().message;
    outside_.audit(std::move(line));
  }
  if (!now) co_return fail(now.error());
  log_.info("container limited", {{"container", order.id}, {"asked_by", asker}, {"limits", out}});
  co_return out;
}

net::Task<void> Api::stream(net::HttpExchange& exchange) {
  if (listeners_ >= kListenersMax) {
    refused_.add();
    exchange.respond(kTooMany, kJson, error_body(base::cat("limit of ", kListenersMax, " listeners reached")));
    co_return;
  }
  struct Place {
    std::size_t& listeners;
    explicit Place(std::size_t& count) : listeners(count) { ++listeners; }
    ~Place() { --listeners; }
  } place(listeners_);

  net::Headers headers;
  headers.add("content-type", kJsonLines);
  exchange.start(kOk, std::move(headers));
  exchange.end_at_drain();
  std::map<std::string, std::pair<Told, SeenContainer>> known;
  bool away = false;
  for (;;) {
    const auto running = co_await looked_.get();
    const base::WallTime now = loop_.clock().wall();
    std::string lines;
    if (!running) {
      if (!away) lines = away_line(running.error(), now);
      away = true;
    } else {
      away = false;
      std::map<std::string, std::pair<Told, SeenContainer>> listed;
      for (const SeenContainer& each : **running) {
        const auto stop = outside_.ends.deadline(each.said.id);
        Told told{each.said.state, each.has_group, each.began.has_value(), stop};
        const auto before = known.find(each.said.id);
        if (before == known.end()) {
          lines += event_line("added", each, stop, now);
        } else if (before->second.first != told) {
          lines += event_line("changed", each, stop, now);
        }
        listed.emplace(each.said.id, std::pair(std::move(told), each));
      }
      for (const auto& [id, before] : known) {
        if (!listed.contains(id)) lines += event_line("removed", before.second, std::nullopt, now);
      }
      known = std::move(listed);
    }
    if (!lines.empty()) {
      const auto written = co_await exchange.write(net::make_buffer(std::move(lines)), kReaderLimit);
      if (!written) co_return exchange.abort();
    }
    co_await loop_.sleep(config_.event_interval);
  }
}

}  // namespace tidemark::yarn_copilot

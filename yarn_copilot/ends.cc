#include "yarn_copilot/ends.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::yarn_copilot {
Ends::Ends(net::EventLoop& loop, const Machine& machine, base::Log log, base::Registry& metrics,
           std::function<void(model::AuditLine)> audit)
    : loop_(loop),
      machine_(machine),
      log_(std::move(log)),
      audit_(std::move(audit)),
      kills_(metrics.counter("tidemark_yarn_copilot_kills_total", "Containers that were killed.")),
      stops_(metrics.counter("tidemark_yarn_copilot_stops_total", "Containers that were asked to end.")),
      failed_(metrics.counter("tidemark_yarn_copilot_failed_ends_total", "Kills and stops that failed.")),
      scope_(loop),
      worker_(1, kEndsWaitingMax) {}

net::Task<Result<Machine::Ended>> Ends::on_worker(std::string id,
                                                  Result<Machine::Ended> (Machine::*end)(const std::string&) const) {
  std::function<Result<Machine::Ended>()> work = [machine = &machine_, id = std::move(id), end] {
    return (machine->*end)(id);
  };
  auto done = co_await worker_.run(loop_, std::move(work));
  if (!done) co_return fail(std::move(done).error());
  co_return *std::move(done);
}

net::Task<Result<Machine::Ended>> Ends::kill(EndOrder order) {
  auto done = co_await on_worker(order.id, &Machine::kill);
  if (done && done->report.left > 0) {
    done = fail(ErrorKind::kUnavailable, done->report.left, " processes of the container ", order.id,
                " are left: they hang in the kernel, or start faster than they are killed");
  }
  tell("kill", order, done);
  co_return done;
}

net::Task<Result<base::WallTime>> Ends::stop(EndOrder order, base::Duration grace) {
  if (grace < base::Duration::zero() || grace > kGraceMax) {
    co_return fail(ErrorKind::kInvalid, "a grace of ", base::format_go_duration(grace), ": wanted 0 to ",
                   base::format_go_duration(kGraceMax));
  }
  const std::string id = order.id;
  const base::MonotonicTime due = loop_.clock().monotonic() + grace;
  const auto before = stops_of_.find(id);
  if (before != stops_of_.end() && before->second.due <= due) co_return before->second.until;
  if (before == stops_of_.end()) {
    if (stops_of_.size() >= kStopsMax) {
      co_return fail(ErrorKind::kExhausted, "more than ", kStopsMax, " containers are being stopped");
    }
    auto told = co_await on_worker(id, &Machine::ask);
    tell("stop", order, told);
    if (!told) co_return fail(std::move(told).error());
  }
  // Another request may have finished meanwhile.
  Stop& stop = stops_of_[id];
  if (stop.timer.armed() && stop.due <= due) co_return stop.until;
  stop.order = std::move(order);
  stop.due = due;
  stop.until = loop_.clock().wall() + grace;
  const base::Duration left = std::max(due - loop_.clock().monotonic(), base::Duration::zero());
  stop.timer = loop_.after(left, [this, id] { scope_.spawn(finish(id)); });
  co_return stop.until;
}

net::Task<void> Ends::finish(std::string id) {
  const auto stop = stops_of_.find(id);
  if (stop == stops_of_.end()) co_return;
  const EndOrder order = std::move(stop->second.order);
  stops_of_.erase(stop);
  auto done = co_await on_worker(id, &Machine::kill);
  if (done || done.error().kind != ErrorKind::kNotFound) tell("kill", order, done);
}

std::optional<base::WallTime> Ends::deadline(std::string_view id) const {
  const auto stop = stops_of_.find(id);
  if (stop == stops_of_.end()) return std::nullopt;
  return stop->second.until;
}

void Ends::tell(std::string_view verb, const EndOrder& order, const Result<Machine::Ended>& done) {
  const bool is_kill = verb == "kill";
  if (done) {
    (is_kill ? kills_ : stops_).add();
    log_.info(is_kill ? "a container was killed" : "a container was asked to end",
              {{"container", order.id},
               {"reason", order.reason},
               {"asked_by", order.asker},
               {"by", to_string(done->by)},
               {"processes", done->report.killed}});
  } else {
    failed_.add();
    log_.warn(base::cat("a ", verb, " did not work"),
              {{"container", order.id}, {"reason", order.reason}, {"asked_by", order.asker}, {"error", done.error()}});
  }
  if (!audit_) return;
  model::AuditLine line;
  line.time = loop_.clock().wall();
  line.actor = base::cat("yarn-copilot for ", order.asker);
  line.verb = verb;
  line.kind = "YarnContainer";
  line.name = order.id;
  line.reason = order.reason;
  if (done) {
    base::JsonWriter(line.new_value)
        .begin_object()
        .member("by", to_string(done->by))
        .member("processes", static_cast<std::int64_t>(done->report.killed))
        .end_object();
  } else {
    line.outcome = model::AuditOutcome::kRefused;
    line.detail = done.error().message;
  }
  audit_(std::move(line));
}

}  // namespace tidemark::yarn_copilot

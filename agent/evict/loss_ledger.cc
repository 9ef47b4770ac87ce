#include "agent/evict/loss_ledger.h"

#include <chrono>

#include "base/json.h"
#include "base/text.h"
#include "journal/audit_file.h"

namespace tidemark::agent {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string path_in(const std::string& state_dir) {
  return base::cat(state_dir, "/losses.jsonl");
}

template <class Number>
void write_number(base::JsonWriter& json, std::string_view name, const std::optional<Number>& number) {
  json.key(name);
  number ? json.value(number->value) : json.null();
}

std::string lost_line(std::uint64_t losses) {
  return base::cat(R"({"schema":)", kLossSchema, R"(,"lost":)", losses, "}");
}

}  // namespace

std::string to_line(const Loss& loss) {
  std::string line;
  base::JsonWriter json(line);
  json.begin_object()
      .member("schema", kLossSchema)
      .member("time", base::format_rfc3339_micro(loss.time))
      .member("source", loss.task.source)
      .member("cluster", loss.task.cluster)
      .member("job", loss.task.job)
      .member("attempt", loss.task.attempt)
      .member("task", loss.task.task)
      .member("user", loss.task.user)
      .member("business", loss.task.business)
      .member("class", loss.task.work_class)
      .member("namespace", loss.ns)
      .member("name", loss.name)
      .member("feature", loss.feature)
      .member("reason", loss.reason)
      .member("ended", loss.ended)
      .member("age_s", std::int64_t{duration_cast<seconds>(loss.age).count()});
  write_number(json, "cpu_milli", loss.cpu);
  write_number(json, "memory_bytes", loss.memory);
  json.member("lost_core_seconds", loss.lost_core_seconds)
      .member("ending_ms", std::int64_t{duration_cast<milliseconds>(loss.ending).count()})
      .end_object();
  return line;
}

LossLedger::LossLedger(net::EventLoop& loop, const base::Log& log, base::Registry& metrics,
                       const std::string& state_dir) {
  if (state_dir.empty()) return;
  backlog_ = journal::keep_lines(
      loop, log,
      {{path_in(state_dir), kLossBytesMax},
       kLossWaitingMax,
       "what evictions cost is not kept; all else goes on",
       "what evictions cost is kept again",
       metrics.counter("tidemark_agent_losses_kept_total", "Evictions whose cost was written to the ledger."),
       metrics.counter("tidemark_agent_losses_lost_total", "Evictions whose cost could not be kept."),
       lost_line});
}

void LossLedger::add(const Loss& loss) {
  if (backlog_) backlog_->add({to_line(loss), {}});
}

net::Task<bool> LossLedger::drain(base::Duration limit) {
  if (!backlog_) co_return true;
  co_return co_await backlog_->drain(limit);
}

}  // namespace tidemark::agent

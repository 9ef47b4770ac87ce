#include "agent/evict/loss_ledger.h"

#include <chrono>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "journal/audit_file.h"
#include "journal/read_lines.h"
#include "linux/kernel_files.h"
#include "linux/scan.h"

namespace tidemark::agent {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kAgeMax_s = std::numeric_limits<std::int64_t>::max() / base::Duration(seconds(1)).count();
constexpr std::int64_t kEndingMax_ms =
    std::numeric_limits<std::int64_t>::max() / base::Duration(milliseconds(1)).count();

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

// One line: a loss, or the number of missing losses.
struct Line {
  std::int64_t schema = 0;
  std::int64_t lost = 0;
  Loss loss;
};

Result<Line> parse_line(std::string_view text) {
  if (text.size() > kLossLineMax) {
    return fail(ErrorKind::kInvalid, "a line of ", text.size(), " bytes: at most ", kLossLineMax);
  }
  Line out;
  Loss& loss = out.loss;
  std::string time;
  std::int64_t age_s = 0, ending_ms = 0;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"time", &time},
      {"source", &loss.task.source},
      {"cluster", &loss.task.cluster},
      {"job", &loss.task.job},
      {"attempt", &loss.task.attempt},
      {"task", &loss.task.task},
      {"user", &loss.task.user},
      {"business", &loss.task.business},
      {"class", &loss.task.work_class},
      {"namespace", &loss.ns},
      {"name", &loss.name},
      {"feature", &loss.feature},
      {"reason", &loss.reason},
      {"ended", &loss.ended},
  };
  std::optional<std::int64_t> cpu, memory;
  base::JsonReader json(text);
  const auto number = [&](std::int64_t& into) {
    json.integer(into);
    if (json.ok() && into < 0) json.fail_here("a negative number");
  };
  const auto measured = [&](std::optional<std::int64_t>& into) {
    if (json.peek() == base::JsonReader::Type::kNull) {
      json.skip();
    } else {
      number(into.emplace(0));
    }
  };
  json.object([&](std::string_view key) {
    for (const auto& [name, into] : texts) {
      if (key != name) continue;
      json.string(*into);
      return;
    }
    if (key == "schema") {
      json.integer(out.schema);
    } else if (key == "lost") {
      number(out.lost);
    } else if (key == "age_s") {
      number(age_s);
    } else if (key == "cpu_milli") {
      measured(cpu);
    } else if (key == "memory_bytes") {
      measured(memory);
    } else if (key == "lost_core_seconds") {
      number(loss.lost_core_seconds);
    } else if (key == "ending_ms") {
      number(ending_ms);
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(json.finish());
  if (out.schema != kLossSchema) {
    return fail(ErrorKind::kUnsupported, "a loss of schema ", out.schema, ", and this program reads ", kLossSchema);
  }
  if (out.lost > 0) return out;
  const auto at = base::parse_rfc3339(time);
  if (!at) return fail(ErrorKind::kInvalid, "a loss has a time, found ", base::in_quotes(time));
  if (age_s > kAgeMax_s || ending_ms > kEndingMax_ms) {
    return fail(ErrorKind::kInvalid, "a loss of ", age_s, " seconds of age and ", ending_ms, " ms of ending");
  }
  loss.time = *at;
  loss.age = seconds(age_s);
  loss.ending = milliseconds(ending_ms);
  if (cpu) loss.cpu = model::CpuMilli{*cpu};
  if (memory) loss.memory = model::MemoryBytes{*memory};
  return out;
}

void take(std::string_view line, Losses& out) {
  if (line.empty()) return;
  auto read = parse_line(line);
  if (!read) {
    ++out.broken;
  } else if (read->lost > 0) {
    out.lost += static_cast<std::uint64_t>(read->lost);
  } else {
    out.losses.push_back(std::move(read->loss));
  }
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

Result<Loss> parse_loss(std::string_view line) {
  TM_TRY(Line read, parse_line(line));
  if (read.lost > 0) return fail(ErrorKind::kInvalid, "no loss, but how many are missing");
  return std::move(read.loss);
}

Losses parse_losses(std::string_view text) {
  Losses out;
  linux::Lines lines(text);
  for (std::string_view line; lines.next(line);) take(line, out);
  return out;
}

Result<Losses> read_losses(const std::string& state_dir) {
  Losses out;
  TM_TRY(const auto read,
         journal::read_kept_lines(path_in(state_dir), kLossLineMax, [&](std::string_view line) { take(line, out); }));
  out.broken += read.too_long;
  return out;
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

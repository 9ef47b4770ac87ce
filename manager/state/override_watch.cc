#include "manager/state/override_watch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/explain/override_text.h"

namespace tidemark::manager {
namespace {

using model::Reason;

// A timer runs by another clock than the wall's: then it is looked at again.
constexpr base::Duration kEndGrace = std::chrono::milliseconds(10);
constexpr base::Duration kLookMax = std::chrono::minutes(1);

std::string_view event_word(Reason reason) {
  switch (reason) {
    case Reason::kLineOverridden:
      return "TidemarkLineOverridden";
    case Reason::kLineOverrideEnded:
      return "TidemarkLineOverrideEnded";
    default:
      return "TidemarkLineOverrideCleared";
  }
}

std::string scope_text(std::string_view pool) {
  return pool.empty() ? "cluster" : base::cat("pool ", pool);
}

}  // namespace

OverrideWatch::OverrideWatch(OverrideContext context, const base::Log& log) : context_(std::move(context)), log_(log) {}

void OverrideWatch::take(std::optional<std::string_view> text, std::string_view uid) {
  uid_ = uid;
  auto step = policy::state::next_overrides(state_, text);
  tell_trouble(step);
  state_ = std::move(step.state);
  if (first_ && overrides() != nullptr) {  // what was there before this process came is no news
    first_ = false;
    told_ = *overrides();
    told_at_ = context_.loop.clock().wall();
  }
  tell();
  arm();
}

void OverrideWatch::tell_trouble(const policy::state::OverridesStep& step) {
  if (step.trouble == trouble_) return;
  trouble_ = step.trouble;
  if (!trouble_) return log_.info("the overrides of the water line can be read again");
  log_.error(model::reason_sentence(*trouble_), {{"config_map", model::kStateName},
                                                 {"key", model::kOverridesKey},
                                                 {"reason", model::reason_id(*trouble_)},
                                                 {"problem", step.problem}});
  if (!context_.leading()) return;
  context_.recorder.record({"v1", "ConfigMap", context_.config_namespace, std::string(model::kStateName), uid_},
                           kube::EventSeverity::kWarning, "TidemarkLineOverridesInvalid",
                           base::cat(model::reason_sentence(*trouble_), step.problem.empty() ? "" : ": ", step.problem,
                                     " [", model::reason_id(*trouble_), "]"));
}

void OverrideWatch::tell() {
  if (overrides() == nullptr) return;
  const base::WallTime now = context_.loop.clock().wall();
  for (const auto& change : policy::state::override_changes(told_, told_at_, *overrides(), now)) {
    const std::string text =
        base::cat(scope_text(change.pool), ": ", model::reason_sentence(change.reason), ": ",
                  policy::explain::override_text(change.line), " [", model::reason_id(change.reason), "]");
    log_.info(text, {{"pool", change.pool}});
    if (context_.leading()) {
      context_.recorder.record({"v1", "ConfigMap", context_.config_namespace, std::string(model::kStateName), uid_},
                               kube::EventSeverity::kNormal, event_word(change.reason), text);
    }
  }
  told_ = *overrides();
  told_at_ = now;
}

void OverrideWatch::arm() {
  end_.cancel();
  if (overrides() == nullptr) return;
  const base::WallTime now = context_.loop.clock().wall();
  std::optional<base::WallTime> first;
  const auto consider = [&](const policy::waterline::LineOverride& line) {
    if (now < line.until && (!first || line.until < *first)) first = line.until;
  };
  if (overrides()->cluster) consider(*overrides()->cluster);
  for (const auto& each : overrides()->pools) consider(each.line);
  if (!first) return;
  end_ = context_.loop.after(std::min(*first - now + kEndGrace, kLookMax), [this, first = *first] { look(first); });
}

void OverrideWatch::look(base::WallTime end) {
  const bool ended = context_.loop.clock().wall() >= end;
  tell();
  arm();
  if (ended) context_.on_change();
}

void OverrideWatch::refresh_metrics() {
  constexpr double kNone = -1;
  const base::WallTime now = context_.loop.clock().wall();
  const bool shows = context_.leading() && overrides() != nullptr;
  if (shows) {
    for (const auto& each : overrides()->pools) shown_.insert(each.pool);
    if (overrides()->cluster) shown_.insert("");
  }
  for (const auto& pool : shown_) {
    const policy::waterline::LineOverride* line = shows ? overrides()->of(pool) : nullptr;
    if (line != nullptr && now >= line->until) line = nullptr;
    const auto percent = [&](const std::optional<std::int64_t>& value) {
      return value ? static_cast<double>(*value) : kNone;
    };
    context_.metrics
        .gauge("tidemark_override_cpu_percent",
               "Override of the water line, in percent; -1: none. Without pool: of the whole cluster.",
               {{"pool", pool}})
        .set(line == nullptr ? kNone : percent(line->line.cpu));
    context_.metrics
        .gauge("tidemark_override_memory_percent",
               "Override of the water line, in percent; -1: none. Without pool: of the whole cluster.",
               {{"pool", pool}})
        .set(line == nullptr ? kNone : percent(line->line.memory));
    context_.metrics
        .gauge("tidemark_override_ends_seconds", "When that ends, in Unix time; 0: not overridden.", {{"pool", pool}})
        .set(line == nullptr ? 0 : std::chrono::duration<double>(line->until.since_epoch).count());
  }
}

}  // namespace tidemark::manager

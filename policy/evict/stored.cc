#include "policy/evict/stored.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::policy::evict {
namespace {

using base::MonotonicTime;

struct StageName {
  EvictStage stage;
  std::string_view name;
};
constexpr std::array kStages{StageName{EvictStage::kAsked, "asked"}, StageName{EvictStage::kLeaving, "leaving"},
                             StageName{EvictStage::kForbidden, "forbidden"}, StageName{EvictStage::kSpared, "spared"},
                             StageName{EvictStage::kKilled, "killed"}};

// The code that waited for the answer is gone: the task leaves if it is listed as ending, else it may be asked at once.
void answer_is_lost(Leaving& one) {
  if (one.stage != EvictStage::kAsked) return;
  one.stage = EvictStage::kForbidden;
  one.unreachable = true;
  one.since = std::max(one.since + -kForbiddenPause, MonotonicTime{});
}

std::int64_t number_of(MonotonicTime time) {
  return time.since_start.count();
}

void write_time(base::JsonWriter& json, std::string_view name, const std::optional<MonotonicTime>& time) {
  if (time) json.member(name, number_of(*time));
}

void write(base::JsonWriter& json, const Leaving& one, std::string_view stage) {
  json.begin_object()
      .member("task", one.task)
      .member("stage", stage)
      .member("feature", to_string(one.feature))
      .member("reason", model::reason_id(one.reason))
      .member("asked", number_of(one.asked))
      .member("since", number_of(one.since))
      .member("deadline", number_of(one.deadline))
      .member("unreachable", one.unreachable)
      .member("killed", one.killed)
      .member("lost", one.lost_core_seconds);
  write_time(json, "counted", one.counted);
  if (one.ends) json.member("ends", one.ends->since_epoch.count());
  json.end_object();
}

class Reader {
 public:
  explicit Reader(std::string_view text) : json_(text) {}

  Result<EvictState> read(std::string_view boot) {
    std::int64_t schema = 0;
    std::string of_boot;
    json_.object([&](std::string_view key) {
      if (key == "schema") {
        json_.integer(schema);
      } else if (key == "boot") {
        json_.string(of_boot);
      } else if (key == "hour") {
        json_.array([&] {
          if (state_.hour.size() == static_cast<std::size_t>(model::kEvictionsPerHourMax))
            return json_.fail_here("too many evictions in the hour");
          state_.hour.push_back(read_time());
        });
      } else if (key == "cpu_not_before") {
        state_.cpu_not_before = read_time();
      } else if (key == "memory_not_before") {
        state_.memory_not_before = read_time();
      } else if (key == "pressure_not_before") {
        state_.pressure_not_before = read_time();
      } else if (key == "disk_not_before") {
        state_.disk_not_before = read_time();
      } else if (key == "leaving") {
        json_.array([&] {
          if (state_.leaving.size() == kLeavingMax) return json_.fail_here("too many leaving tasks");
          leaving();
        });
      } else {
        json_.skip();
      }
    });
    TM_TRY_VOID(json_.finish());
    if (schema != kEvictStoredSchema) {
      return fail(ErrorKind::kUnsupported, "evictions have schema ", schema, "; this version reads ",
                  kEvictStoredSchema);
    }
    if (boot.empty()) return fail(ErrorKind::kNotFound, "the boot ID of this machine is unknown");
    if (of_boot != boot) return fail(ErrorKind::kNotFound, "evictions are from another boot of this machine");
    std::ranges::sort(state_.hour);
    std::ranges::sort(state_.leaving, {}, &Leaving::task);
    const auto twice = std::ranges::adjacent_find(state_.leaving, {}, &Leaving::task);
    if (twice != state_.leaving.end())
      return fail(ErrorKind::kInvalid, base::in_quotes(twice->task), " appears twice in leaving");
    return std::move(state_);
  }

 private:
  MonotonicTime read_time() {
    std::int64_t nanoseconds = 0;
    json_.integer(nanoseconds);
    if (nanoseconds < 0) json_.fail_here("negative time");
    // Far from overflow of sums of times; no machine runs for so long.
    return {base::Duration(std::min(nanoseconds, std::numeric_limits<std::int64_t>::max() / 4))};
  }

  void leaving() {
    Leaving one;
    std::string stage, feature, reason;
    json_.object([&](std::string_view key) {
      if (key == "task") {
        json_.string(one.task);
      } else if (key == "stage") {
        json_.string(stage);
      } else if (key == "feature") {
        json_.string(feature);
      } else if (key == "reason") {
        json_.string(reason);
      } else if (key == "asked") {
        one.asked = read_time();
      } else if (key == "since") {
        one.since = read_time();
      } else if (key == "deadline") {
        one.deadline = read_time();
      } else if (key == "unreachable") {
        json_.boolean(one.unreachable);
      } else if (key == "killed") {
        json_.boolean(one.killed);
      } else if (key == "lost") {
        json_.integer(one.lost_core_seconds);
      } else if (key == "counted") {
        one.counted = read_time();
      } else if (key == "ends") {
        std::int64_t nanoseconds = 0;
        json_.integer(nanoseconds);
        one.ends = base::WallTime{base::Duration(nanoseconds)};
      } else {
        json_.skip();
      }
    });
    if (!json_.ok()) return;
    const auto named = std::ranges::find(kStages, stage, &StageName::name);
    const auto known = parse_evict_feature(feature);
    const auto why = std::ranges::find(model::all_reasons(), reason, &model::ReasonInfo::id);
    if (one.task.empty()) return json_.fail_here("no name of the task");
    if (named == kStages.end()) return json_.fail_here("no stage of an eviction");
    if (!known) return json_.fail_here("no feature that evicts");
    if (why == model::all_reasons().end()) return json_.fail_here("no reason");
    one.stage = named->stage;
    one.feature = *known;
    one.reason = why->reason;
    answer_is_lost(one);
    state_.leaving.push_back(std::move(one));
  }

  base::JsonReader json_;
  EvictState state_;
};

}  // namespace

std::string encode_evictions(const EvictState& state, std::string_view boot) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object().member("schema", kEvictStoredSchema).member("boot", boot).key("hour").begin_array();
  for (const MonotonicTime each : state.hour) json.value(number_of(each));
  json.end_array();
  write_time(json, "cpu_not_before", state.cpu_not_before);
  write_time(json, "memory_not_before", state.memory_not_before);
  write_time(json, "pressure_not_before", state.pressure_not_before);
  write_time(json, "disk_not_before", state.disk_not_before);
  json.key("leaving").begin_array();
  for (const Leaving& each : state.leaving) {
    write(json, each, std::ranges::find(kStages, each.stage, &StageName::stage)->name);
  }
  json.end_array().end_object();
  return text;
}

Result<EvictState> decode_evictions(std::string_view text, std::string_view boot) {
  if (text.size() > kEvictStoredBytesMax) return fail(ErrorKind::kExhausted, text.size(), " bytes");
  return Reader(text).read(boot);
}

EvictState evict_state_after(EvictState before, MonotonicTime now) {
  const auto pause = first_evict_state(now).cpu_not_before;
  before.cpu_not_before = before.cpu_not_before ? std::max(*before.cpu_not_before, *pause) : *pause;
  return before;
}

}  // namespace tidemark::policy::evict

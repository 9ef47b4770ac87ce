#include "policy/state/desired.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/generation.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::state {

using model::Reason;

const StateMark* DesiredStates::pool(std::string_view name) const {
  const auto at = std::ranges::find(pools, name, &PoolMark::pool);
  return at == pools.end() ? nullptr : &at->mark;
}

Result<DesiredStates> parse_desired(std::string_view text) {
  if (text.size() > kDesiredBytesMax) {
    return fail(ErrorKind::kInvalid, text.size(), " bytes, at most ", kDesiredBytesMax);
  }
  TM_TRY(const Json value, Json::parse(text));
  const Json* written = value.member("schema");
  if (written != nullptr && written->get_int().value_or(0) > kStateSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written->as_int(), "; this version reads ",
                kStateSchema);
  }
  waterline::Problems problems;
  waterline::Form form(&value, "", problems);
  DesiredStates desired;
  std::int64_t schema = 0;
  form.integer("schema", schema, kStateSchema, kStateSchema);
  if (!form.has("schema")) form.missing("schema", base::cat(kStateSchema));
  form.integer("generation", desired.generation, 0, std::numeric_limits<std::int64_t>::max());
  const Json* cluster = form.member("cluster");
  std::vector<std::pair<const Json*, std::string>> pools;
  form.list("pools", kDesiredPoolsMax,
            [&](const Json& item, std::string place) { pools.emplace_back(&item, std::move(place)); });
  form.finish();
  if (problems.any()) return fail(ErrorKind::kInvalid, to_string(problems.take()));
  if (cluster != nullptr) {
    TM_TRY(auto mark, read_mark(*cluster, "cluster", false));
    desired.cluster = std::move(mark);
  }
  for (const auto& [item, place] : pools) {
    const std::string name(item->text_at("name"));
    if (name.empty()) return fail(ErrorKind::kInvalid, place, ".name is missing");
    if (desired.pool(name) != nullptr) return fail(ErrorKind::kInvalid, place, ": the pool ", name, " occurs twice");
    TM_TRY(auto mark, read_mark(*item, place, true));
    desired.pools.push_back({name, std::move(mark)});
  }
  std::ranges::sort(desired.pools, {}, &PoolMark::pool);
  return desired;
}

std::string format_desired(const DesiredStates& desired) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().member("schema", kStateSchema).member("generation", desired.generation);
  if (desired.cluster) {
    json.key("cluster").begin_object();
    write_mark(json, *desired.cluster);
    json.end_object();
  }
  json.key("pools").begin_array();
  for (const auto& pool : desired.pools) {
    json.begin_object().member("name", pool.pool);
    write_mark(json, pool.mark);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out;
}

Result<DesiredCommand> command_desired(const DesiredStates& before, std::string_view pool, const StateCommand& command,
                                       base::WallTime now) {
  DesiredCommand out{before, {}, CommandEffect::kSet};
  std::optional<StateMark> held;
  if (pool.empty()) {
    held = before.cluster;
  } else if (const StateMark* mark = before.pool(pool)) {
    held = *mark;
  } else if (before.pools.size() >= kDesiredPoolsMax) {
    return fail(ErrorKind::kExhausted, "orders for ", kDesiredPoolsMax,
                " pools are kept already; remove some from the ConfigMap tidemark-state");
  }
  const std::int64_t generation = model::next_generation(before.generation, now);
  auto commanded = policy::state::command(held, command, generation, now);
  out.effect = commanded.effect;
  out.mark = commanded.mark;
  if (commanded.effect != CommandEffect::kSet) return out;
  out.desired.generation = generation;
  if (pool.empty()) {
    out.desired.cluster = std::move(commanded.mark);
    return out;
  }
  auto at = std::ranges::find(out.desired.pools, pool, &PoolMark::pool);
  if (at == out.desired.pools.end()) {
    at = out.desired.pools.insert(std::ranges::lower_bound(out.desired.pools, pool, {}, &PoolMark::pool),
                                  PoolMark{std::string(pool), {}});
  }
  at->mark = std::move(commanded.mark);
  return out;
}

bool drop_ended(DesiredStates& desired, base::WallTime now) {
  bool any = desired.cluster && drop_ended(*desired.cluster, now);
  for (auto& pool : desired.pools) any = drop_ended(pool.mark, now) || any;
  if (any) desired.generation = model::next_generation(desired.generation, now);
  return any;
}

void recover(DesiredStates& desired, const NodeMarks& marks) {
  if (marks.cluster) desired.generation = std::max(desired.generation, marks.cluster->generation);
  if (marks.pool) desired.generation = std::max(desired.generation, marks.pool->mark.generation);
  if (marks.cluster && (!desired.cluster || desired.cluster->generation < marks.cluster->generation)) {
    desired.cluster = marks.cluster;
  }
  if (!marks.pool) return;
  auto at = std::ranges::lower_bound(desired.pools, marks.pool->pool, {}, &PoolMark::pool);
  if (at == desired.pools.end() || at->pool != marks.pool->pool) {
    if (desired.pools.size() < kDesiredPoolsMax) desired.pools.insert(at, *marks.pool);
  } else if (at->mark.generation < marks.pool->mark.generation) {
    at->mark = marks.pool->mark;
  }
}

DesiredStep next_desired(const DesiredState& state, std::optional<std::string_view> text) {
  if (!text) {
    if (state.desired && *state.desired != DesiredStates()) return {state, Reason::kStateDesiredLost, ""};
    return {{DesiredStates()}, Reason::kStateDesiredNone, ""};
  }
  auto read = parse_desired(*text);
  if (!read) return {state, Reason::kStateDesiredUnreadable, read.error().message};
  // A text older than the one in force comes from a backup or a mistake: it must not undo a command.
  if (state.desired && read->generation < state.desired->generation) return {state, Reason::kStateDesiredOld, ""};
  return {{std::move(*read)}, Reason::kStateDesiredRead, ""};
}

}  // namespace tidemark::policy::state

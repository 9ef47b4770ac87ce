#include "policy/state/overrides.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/generation.h"
#include "policy/state/order.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::state {
namespace {

using base::cat;
using base::WallTime;
using model::Reason;

WallTime whole_second(WallTime time) {
  return {std::chrono::floor<std::chrono::seconds>(time.since_epoch)};
}

void write(base::JsonWriter& json, const waterline::LineOverride& line) {
  if (line.line.cpu) json.member("cpu", *line.line.cpu);
  if (line.line.memory) json.member("memory", *line.line.memory);
  json.member("by", line.who).member("why", line.why);
  json.member("since", base::format_rfc3339(line.since)).member("until", base::format_rfc3339(line.until));
}

std::optional<WallTime> read_moment(waterline::Form& form, std::string_view key) {
  std::string text;
  form.text(key, text);
  const auto when = base::parse_rfc3339(text);
  if (!when) form.problem(key, cat("wanted a time like 2026-11-21T10:00:34Z, found ", base::in_quotes(text)));
  return when;
}

void read_words(waterline::Form& form, std::string_view key, std::size_t bytes_max, std::string& out) {
  form.text(key, out);
  if (out.size() > bytes_max) form.problem(key, cat(out.size(), " bytes, at most ", bytes_max));
}

waterline::LineOverride read(waterline::Form& form) {
  waterline::LineOverride out;
  for (const auto& [key, side] :
       {std::pair{"cpu", &waterline::LinePercent::cpu}, {"memory", &waterline::LinePercent::memory}}) {
    if (!form.has(key)) continue;
    form.integer(key, (out.line.*side).emplace(), 0, kOverridePercentMax);
  }
  if (!out.line.cpu && !out.line.memory) form.missing("cpu", "or memory, or both");
  read_words(form, "by", kByBytesMax, out.who);
  read_words(form, "why", kWhyBytesMax, out.why);
  const auto since = read_moment(form, "since");
  const auto until = read_moment(form, "until");
  if (since && until) {
    out.since = whole_second(*since);
    out.until = whole_second(*until);
    if (*until - *since > kOverrideLastsMax) {
      form.problem("until", cat("more than ", base::format_go_duration(kOverrideLastsMax), " after since"));
    }
  }
  form.finish();
  return out;
}

const waterline::LineOverride* alive(const waterline::LineOverride* line, WallTime now) {
  return line != nullptr && now < line->until ? line : nullptr;
}

void drop_ended(Overrides& overrides, WallTime now) {
  const auto over = [now](const waterline::LineOverride& line) { return now - line.until >= kOverrideKeptEnded; };
  if (overrides.cluster && over(*overrides.cluster)) overrides.cluster.reset();
  std::erase_if(overrides.pools, [&](const PoolOverride& each) { return over(each.line); });
}

bool same(const waterline::LineOverride& a, const waterline::LineOverride& b) {
  return a.line == b.line && a.until == b.until && a.who == b.who && a.why == b.why;
}

Result<waterline::LineOverride> made(const OverrideCommand& command, WallTime now) {
  waterline::LineOverride out{*command.line, whole_second(command.until), command.by, command.why, whole_second(now)};
  if (!out.line.cpu && !out.line.memory) return fail(ErrorKind::kInvalid, "no line given; wanted cpu, memory or both");
  for (const auto& [name, percent] : {std::pair{"cpu", out.line.cpu}, {"memory", out.line.memory}}) {
    if (percent && (*percent < 0 || *percent > kOverridePercentMax)) {
      return fail(ErrorKind::kInvalid, name, ": wanted 0 to ", kOverridePercentMax, " percent of capacity, found ",
                  *percent);
    }
  }
  const base::Duration lasts = command.until - now;
  if (lasts < kOverrideLastsMin) {
    return fail(ErrorKind::kInvalid, "the override would end at ", base::format_rfc3339(command.until),
                ": wanted an end at least ", base::format_go_duration(kOverrideLastsMin), " from now");
  }
  if (lasts > kOverrideLastsMax) {
    return fail(ErrorKind::kInvalid, "the override would end at ", base::format_rfc3339(command.until),
                ": an override lasts ", base::format_go_duration(kOverrideLastsMax),
                " at most. For longer, use the calendar of tidemark-config");
  }
  return out;
}

}  // namespace

const waterline::LineOverride* Overrides::of(std::string_view pool) const {
  if (pool.empty()) return cluster ? &*cluster : nullptr;
  const auto at = std::ranges::find(pools, pool, &PoolOverride::pool);
  return at == pools.end() ? nullptr : &at->line;
}

Result<Overrides> parse_overrides(std::string_view text) {
  if (text.size() > kOverridesBytesMax) {
    return fail(ErrorKind::kInvalid, text.size(), " bytes, at most ", kOverridesBytesMax);
  }
  TM_TRY(const Json value, Json::parse(text));
  const Json* written = value.member("schema");
  if (written != nullptr && written->get_int().value_or(0) > kOverridesSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written->as_int(), "; this version reads ",
                kOverridesSchema);
  }
  waterline::Problems problems;
  waterline::Form form(&value, "", problems);
  Overrides out;
  std::int64_t schema = 0;
  form.integer("schema", schema, kOverridesSchema, kOverridesSchema);
  if (!form.has("schema")) form.missing("schema", cat(kOverridesSchema));
  form.integer("generation", out.generation, 0, std::numeric_limits<std::int64_t>::max());
  if (const Json* cluster = form.member("cluster")) {
    waterline::Form each(cluster, "cluster", problems);
    out.cluster = read(each);
  }
  std::set<std::string> seen;
  form.list("pools", kOverridesPoolsMax, [&](const Json& item, std::string place) {
    waterline::Form each(&item, place, problems);
    PoolOverride pool;
    each.text("name", pool.pool);
    if (pool.pool.empty()) each.missing("name", "the pool's name");
    if (!pool.pool.empty() && !seen.insert(pool.pool).second) {
      each.problem("name", cat("the pool ", pool.pool, " occurs twice"));
    }
    pool.line = read(each);
    out.pools.push_back(std::move(pool));
  });
  form.finish();
  if (problems.any()) return fail(ErrorKind::kInvalid, to_string(problems.take()));
  std::ranges::sort(out.pools, {}, &PoolOverride::pool);
  return out;
}

std::string format_overrides(const Overrides& overrides) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().member("schema", kOverridesSchema).member("generation", overrides.generation);
  if (overrides.cluster) {
    json.key("cluster").begin_object();
    write(json, *overrides.cluster);
    json.end_object();
  }
  json.key("pools").begin_array();
  for (const auto& each : overrides.pools) {
    json.begin_object().member("name", each.pool);
    write(json, each.line);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out;
}

waterline::LineOverrides overrides_of(const Overrides& overrides, std::string_view pool, WallTime now) {
  waterline::LineOverrides out;
  if (!pool.empty()) {
    if (const auto* own = alive(overrides.of(pool), now)) out.push_back(*own);
  }
  if (const auto* all = alive(overrides.of(""), now)) out.push_back(*all);
  return out;
}

Result<OverrideCommanded> command_override(const Overrides& before, std::string_view pool,
                                           const OverrideCommand& command, WallTime now) {
  OverrideCommanded out{before, std::nullopt, std::nullopt, OverrideEffect::kSet};
  drop_ended(out.overrides, now);
  if (const auto* held = out.overrides.of(pool)) out.before = *held;
  if (command.line) {
    TM_TRY(out.after, made(command, now));
    if (out.before && now < out.before->until && same(*out.before, *out.after)) {
      out.after = out.before;
      out.effect = OverrideEffect::kAlready;
      return out;
    }
  } else if (!out.before) {
    out.effect = OverrideEffect::kNothing;
    return out;
  }
  out.overrides.generation = model::next_generation(before.generation, now);
  if (pool.empty()) {
    out.overrides.cluster = out.after;
    return out;
  }
  auto& pools = out.overrides.pools;
  std::erase_if(pools, [pool](const PoolOverride& each) { return each.pool == pool; });
  if (!out.after) return out;
  if (pools.size() >= kOverridesPoolsMax) {
    std::erase_if(pools, [now](const PoolOverride& each) { return now >= each.line.until; });
  }
  if (pools.size() >= kOverridesPoolsMax) {
    return fail(ErrorKind::kExhausted, kOverridesPoolsMax, " pools are overridden already; clear some first");
  }
  pools.insert(std::ranges::lower_bound(pools, pool, {}, &PoolOverride::pool),
               PoolOverride{std::string(pool), *out.after});
  return out;
}

OverridesStep next_overrides(const OverridesState& state, std::optional<std::string_view> text) {
  if (!text) {
    if (state.overrides && state.overrides->any()) return {state, Reason::kLineOverridesKept, ""};
    return {{Overrides()}, std::nullopt, ""};
  }
  auto read = parse_overrides(*text);
  if (!read) return {state, Reason::kLineOverridesKept, read.error().message};
  // A text older than the one in force comes from a backup or a mistake: it must not undo a command.
  if (state.overrides && read->generation < state.overrides->generation) return {state, Reason::kLineOverridesOld, ""};
  return {{std::move(*read)}, std::nullopt, ""};
}

std::vector<OverrideChange> override_changes(const Overrides& before, WallTime then, const Overrides& after,
                                             WallTime now) {
  std::set<std::string> scopes{""};
  for (const auto* each : {&before, &after}) {
    for (const auto& pool : each->pools) scopes.insert(pool.pool);
  }
  std::vector<OverrideChange> changes;
  for (const auto& pool : scopes) {
    const auto* was = alive(before.of(pool), then);
    const auto* is = alive(after.of(pool), now);
    if (is != nullptr) {
      if (was == nullptr || *was != *is) changes.push_back({pool, Reason::kLineOverridden, *is});
    } else if (was != nullptr) {
      changes.push_back({pool, now >= was->until ? Reason::kLineOverrideEnded : Reason::kLineOverrideCleared, *was});
    }
  }
  return changes;
}

}  // namespace tidemark::policy::state

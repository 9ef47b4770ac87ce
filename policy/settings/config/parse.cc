#include "policy/settings/config/parse.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "policy/settings/config/budget_form.h"
#include "policy/settings/config/mode_form.h"
#include "policy/settings/config/offer_form.h"
#include "policy/settings/config/profile_form.h"
#include "policy/settings/nodeslo/layer.h"

namespace tidemark::policy::settings {
namespace {

using std::chrono::hours, std::chrono::seconds;

constexpr std::size_t kBusinessMax = 63;  // the same
constexpr std::int64_t kNodesPerMinuteMax = 100'000;
constexpr base::Duration kSoakMax = hours(24 * 7);
constexpr base::Duration kEventWindowMax = hours(1);  // for so long does an API server keep events
constexpr std::int64_t kEvictionsMax = 1'000'000;
constexpr std::int64_t kFactorMax = 100'000;  // percent

void read_profile(waterline::Form& form, model::Profile& profile) {
  if (const auto choice = form.choice("profile", {"koordinator", "tidemark"})) {
    profile = *choice == 0 ? model::Profile::kKoordinator : model::Profile::kTidemark;
  }
}

void read_business(waterline::Form& form, std::string& business) {
  form.text("business", business);
  if (business.size() > kBusinessMax || !model::check_label_value(business)) {
    form.problem("business", base::cat("wanted what a label can hold (up to ", kBusinessMax,
                                       " letters, digits, '-', '_' or '.'), found ", base::in_quotes(business)));
  }
}

void read_selector(waterline::Form& form, model::Pool& pool, waterline::Problems& problems) {
  const Json* value = form.member("nodeSelector");
  if (value == nullptr) {
    return form.missing("nodeSelector", "required; {} takes all nodes that the pools before it leave");
  }
  waterline::Form selector(value, form.place("nodeSelector"), problems);
  bool empty = true;
  if (const Json* labels = selector.member("matchLabels")) empty = !labels->is_object() || labels->as_object().empty();
  selector.list("matchExpressions", std::numeric_limits<std::size_t>::max(), [&](const Json& item, std::string place) {
    empty = false;
    waterline::Form expression(&item, std::move(place), problems);
    for (const std::string_view key : {"key", "operator", "values"}) expression.member(key);
    expression.finish();
  });
  selector.finish();
  auto read = model::LabelSelector::from_json(*value);
  if (!read) return form.problem("nodeSelector", read.error().message);
  if (read->problem()) return form.problem("nodeSelector", read->problem()->message);
  pool.selector = std::move(*read);
  pool.takes_all = empty;
}

// The name of a calendar. Absent leaves the present value; `calendar: none` removes it.
void read_calendar_name(waterline::Form& form, const waterline::TidemarkConfig& config,
                        std::optional<std::size_t>& out) {
  constexpr std::string_view kNone = "none";
  if (!form.has("calendar")) return;
  std::vector<std::string_view> names{kNone};
  for (const auto& calendar : config.calendars) {
    if (!calendar.name.empty()) names.push_back(calendar.name);
  }
  const auto choice = form.choice("calendar", names);
  if (!choice) return;
  out = std::nullopt;
  const auto at = std::ranges::find(config.calendars, names[*choice], &waterline::Calendar::name);
  if (at != config.calendars.end()) out = static_cast<std::size_t>(at - config.calendars.begin());
}

// The settings of a pool, and the document's defaults for pools without them.
void read_offer(waterline::Form& form, const waterline::TidemarkConfig& config, model::Pool& pool,
                waterline::Problems& problems) {
  read_pool_modes(form, pool.modes, problems);
  read_profile(form, pool.profile);
  read_calendar_name(form, config, pool.calendar);
  read_ledger(form, config.classes, pool.ledger, problems);
  read_motion(form, pool.motion, problems);
  read_drain(form, pool.ends_yarn_work, problems);
  read_arbitrate(form, pool.arbitrate, problems);
  read_warm_up(form, pool.warm_up);
  read_evictions(form, pool.budget, pool.evict, problems);
  pool.nodeslo = over(pool.nodeslo, read_slo_layer(form.member("nodeSlo"), form.place("nodeSlo"), problems));
}

void read_pools(waterline::Form& form, waterline::TidemarkConfig& config, waterline::Problems& problems) {
  std::map<std::string, std::string> names;
  std::map<std::string, std::string> selectors;
  names.emplace(model::kDefaultPool, "the pool of all nodes that no other pool takes");
  form.list("pools", kPoolsMax, [&](const Json& item, std::string place) {
    waterline::Form entry(&item, place, problems);
    model::Pool pool = config.rest;
    pool.name = waterline::read_name(entry, place, names);
    read_selector(entry, pool, problems);
    read_business(entry, pool.business);
    read_offer(entry, config, pool, problems);
    entry.boolean("canary", pool.canary);
    entry.finish();
    if (const Json* selector = entry.member("nodeSelector")) {
      if (const auto [at, fresh] = selectors.emplace(selector->dump(), place); !fresh) {
        entry.problem("nodeSelector", base::cat("the same as in ", at->second, ", which takes all its nodes"));
      }
    }
    config.pools.push_back(std::move(pool));
  });
}

void read_rollout(waterline::Form& form, waterline::RolloutSettings& rollout, waterline::Problems& problems) {
  waterline::Form each(form.member("rollout"), form.place("rollout"), problems);
  if (const auto choice = each.choice("pace", {"staged", "at-once"})) rollout.staged = *choice == 0;
  each.integer("nodesPerMinute", rollout.nodes_per_minute, 1, kNodesPerMinuteMax);
  each.duration("canarySoak", rollout.canary_soak, seconds(0), kSoakMax);
  waterline::Form evictions(each.member("stopOnEvictions"), each.place("stopOnEvictions"), problems);
  evictions.boolean("watched", rollout.evictions.watched);
  evictions.duration("window", rollout.evictions.window, seconds(10), kEventWindowMax);
  evictions.integer("atLeast", rollout.evictions.at_least, 1, kEvictionsMax);
  evictions.integer("factorPercent", rollout.evictions.factor_percent, 100, kFactorMax);
  evictions.finish();
  each.finish();
}

void read_classes(waterline::Form& form, std::vector<model::WorkClass>& classes, waterline::Problems& problems) {
  std::map<std::string, std::string> names;
  std::map<std::int64_t, std::string> orders;
  form.list("classes", model::kClassesMax, [&](const Json& item, std::string place) {
    waterline::Form entry(&item, place, problems);
    model::WorkClass work;
    work.name = waterline::read_name(entry, place, names);
    entry.integer("order", work.order, 0, model::kClassOrderMax);
    if (!entry.has("order"))
      entry.missing("order", "a number is required; the class with the lowest is reclaimed first");
    entry.duration("restartCost", work.restart_cost, seconds(0), model::kClassRestartCostMax);
    entry.boolean("checkpointing", work.checkpointing);
    entry.integer("cpuWeight", work.cpu_weight, 1, model::kClassWeightMax);
    entry.integer("memoryLowPercent", work.memory_low_percent, 0, model::kClassMemoryLowMax);
    entry.finish();
    if (entry.has("order")) {
      if (const auto [at, fresh] = orders.emplace(work.order, place); !fresh) {
        entry.problem("order", base::cat(at->second, " has the same order; orders must differ"));
      }
    }
    classes.push_back(std::move(work));
  });
  std::ranges::sort(classes, {}, &model::WorkClass::order);
}

bool read_schema(waterline::Form& form) {
  const Json* schema = form.member("schema");
  if (schema == nullptr) {
    form.missing("schema", base::cat("say schema: ", kTidemarkConfigSchema));
  } else if (!schema->is_int() || schema->as_int() != kTidemarkConfigSchema) {
    form.problem("schema", base::cat("this version reads schema ", kTidemarkConfigSchema, ", found ", schema->dump()));
  } else {
    return true;
  }
  return false;
}

std::unexpected<std::vector<waterline::Problem>> only(std::string why) {
  return std::unexpected(std::vector<waterline::Problem>{{"", std::move(why)}});
}

}  // namespace

std::expected<waterline::TidemarkConfig, std::vector<waterline::Problem>> parse_tidemark_config(
    std::string_view text, const waterline::Zones& zones) {
  if (text.size() > kTidemarkConfigBytesMax) {
    return only(base::cat(text.size(), " bytes; at most ", kTidemarkConfigBytesMax, " are read"));
  }
  const auto document = base::parse_yaml(text);
  if (!document) return only(document.error().message);

  waterline::Problems problems;
  waterline::TidemarkConfig config;
  waterline::Form form(&*document, "", problems);
  // Another schema is unknown, so no more problems are reported for the text.
  if (!problems.any() && !read_schema(form)) return std::unexpected(problems.take());
  config.calendars = waterline::read_calendars(form, zones, problems);
  read_classes(form, config.classes, problems);
  read_offer(form, config, config.rest, problems);
  if (!form.has("mode") && document->is_object()) {
    form.missing("mode", "set observe or enforce, the default for pools without a mode");
  }
  read_pools(form, config, problems);
  read_rollout(form, config.rollout, problems);
  read_profiles(form, config.profiles, problems);
  form.finish();
  if (problems.any()) return std::unexpected(problems.take());
  return config;
}

TidemarkStep next_tidemark_config(const TidemarkState& state, const TidemarkSource& source,
                                  const waterline::Zones& zones) {
  if (!source.found) {
    if (state.config && state.text) return {state, model::Reason::kConfigKept, ""};
    return {{waterline::drop_in(), std::nullopt}, model::Reason::kConfigDropIn, ""};
  }
  const auto refused = [&](std::string problem) {
    return TidemarkStep{state, model::Reason::kConfigInvalid, std::move(problem)};
  };
  if (!source.text) {
    std::string problem = base::cat("missing key ", model::kTidemarkConfigKey);
    if (!source.other_keys.empty()) problem += base::cat("; found ", base::join(source.other_keys, ", "));
    return refused(std::move(problem));
  }
  if (!source.other_keys.empty()) {
    return refused(base::cat("only the key ", model::kTidemarkConfigKey, " is read; found also ",
                             base::join(source.other_keys, ", ")));
  }
  auto config = parse_tidemark_config(*source.text, zones);
  if (!config) return refused(to_string(config.error()));
  return {{std::move(*config), std::string(*source.text)}, model::Reason::kConfigApplied, ""};
}

}  // namespace tidemark::policy::settings

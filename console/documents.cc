#include "console/documents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "console/json_values.h"
#include "console/offline_document.h"
#include "console/platform_document.h"
#include "console/pool_orders.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/reason.h"
#include "policy/explain/cluster_doctor_text.h"
#include "policy/explain/override_text.h"
#include "policy/explain/preview_text.h"
#include "policy/waterline/calendar/preview.h"
#include "policy/waterline/pools.h"

namespace tidemark::console {
namespace {

using base::JsonWriter;

constexpr std::size_t kLinePointStep = 3;  // of the policy's points every third: a quarter of an hour

void write_amounts(JsonWriter& json, std::string_view name, const SumAmounts& sum, bool known) {
  json.key(name).begin_object();
  json.member("capacity", sum.capacity);
  optional_member(json, "online", known ? std::optional(sum.online) : std::nullopt);
  optional_member(json, "offline", known ? std::optional(sum.offline) : std::nullopt);
  json.member("offered", sum.offered);
  optional_member(json, "sold", sum.sold);
  optional_member(json, "line", sum.line);
  json.member("capacityKnown", sum.capacity_known);
  json.end_object();
}

bool matches(const NodeRow& row, const NodeQuery& query) {
  if (!query.pool.empty() && row.pool != query.pool) return false;
  if (!query.state.empty() && to_string(row.state) != query.state) return false;
  return query.text.empty() || row.name.find(query.text) != std::string::npos;
}

void write_orders(JsonWriter& json, const policy::waterline::LineOverrides& overrides) {
  json.key("overrides").begin_array();
  for (const policy::waterline::LineOverride& each : overrides) json.raw(policy::explain::override_json(each).dump());
  json.end_array();
}

void write_line(JsonWriter& json, std::string_view name, const model::LineTerms& terms,
                const policy::waterline::Calendar& calendar) {
  json.key(name).begin_object();
  json.member("basePercent", terms.base);
  json.member("percent", terms.hold);
  json.member("sellPercent", terms.sell);
  json.member("phase", line_phase_word(terms.phase));
  json.member("reason", model::reason_id(terms.reason));
  json.member("text", model::reason_sentence(terms.reason));
  if (terms.entry && *terms.entry < calendar.entries.size()) json.member("entry", calendar.entries[*terms.entry].name);
  json.end_object();
}

void write_pool(JsonWriter& json, View& view, const model::Pool& pool, base::WallTime now) {
  Settings& settings = view.settings();
  const policy::waterline::Calendar& calendar = settings.calendar_of(pool);
  json.begin_object();
  json.member("name", pool.name);
  json.member("business", pool.business);
  json.member("profile", to_string(pool.profile));
  json.member("mode", to_string(pool.modes.capacity));
  json.member("canary", pool.canary);
  json.member("calendar", calendar.name);
  json.key("line");
  if (view.known().settings) {
    const model::LinePlan line = settings.line(pool, settings.strategy_of(pool), now);
    json.begin_object();
    write_line(json, "cpu", line.cpu, calendar);
    write_line(json, "memory", line.memory, calendar);
    optional_member(json, "changesAt", line.changes_at ? std::optional(seconds(*line.changes_at)) : std::nullopt);
    json.end_object();
  } else {
    json.null();
  }
  write_orders(json, settings.overrides_of(pool, now));
  const auto sums = view.pool_sums().find(pool.name);
  json.key("sums");
  write_sums(json, sums == view.pool_sums().end() ? Sums() : sums->second);
  json.end_object();
}

void write_gain(JsonWriter& json, const std::optional<View::Gain>& gain, const std::optional<Price>& price) {
  if (!gain) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("since", seconds(gain->since));
  json.member("coreSeconds", gain->core_seconds);
  json.key("price");
  if (price) {
    json.begin_object();
    json.member("perCoreHourMicro", price->per_core_hour_micro);
    json.member("currency", price->currency);
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
}

std::string_view truth_word(kube::Truth truth) {
  return truth == kube::Truth::kTrue ? "True" : truth == kube::Truth::kFalse ? "False" : "Unknown";
}

}  // namespace

std::string_view line_phase_word(model::LinePhase phase) {
  switch (phase) {
    case model::LinePhase::kBase:
      return "base";
    case model::LinePhase::kRampingUp:
      return "rampingUp";
    case model::LinePhase::kOpen:
      return "open";
    case model::LinePhase::kRampingDown:
      return "rampingDown";
    case model::LinePhase::kFrozen:
      return "frozen";
    case model::LinePhase::kOverridden:
      return "overridden";
  }
  return "base";
}

const std::vector<NodeColumn>& node_columns() {
  static const std::vector<NodeColumn> kColumns = {
      {"name", [](JsonWriter& json, const NodeRow& row) { json.value(row.name); }},
      {"pool", [](JsonWriter& json, const NodeRow& row) { json.value(row.pool); }},
      {"state", [](JsonWriter& json, const NodeRow& row) { json.value(to_string(row.state)); }},
      {"report", [](JsonWriter& json, const NodeRow& row) { json.value(to_string(row.report)); }},
      {"reported", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.reported_s); }},
      {"tasks", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.tasks); }},
      {"cpuCapacity", [](JsonWriter& json, const NodeRow& row) { json.value(row.cpu.capacity); }},
      {"cpuOnline", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.cpu.online); }},
      {"cpuOffline", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.cpu.offline); }},
      {"cpuOffered", [](JsonWriter& json, const NodeRow& row) { json.value(row.cpu.offered); }},
      {"cpuSold", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.cpu.sold); }},
      {"cpuLine", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.cpu.line_percent); }},
      {"memoryCapacity", [](JsonWriter& json, const NodeRow& row) { json.value(row.memory.capacity); }},
      {"memoryOnline", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.memory.online); }},
      {"memoryOffline", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.memory.offline); }},
      {"memoryOffered", [](JsonWriter& json, const NodeRow& row) { json.value(row.memory.offered); }},
      {"memorySold", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.memory.sold); }},
      {"memoryLine", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.memory.line_percent); }},
      {"until", [](JsonWriter& json, const NodeRow& row) { optional_value(json, row.until_s); }},
  };
  return kColumns;
}

Result<std::vector<const NodeColumn*>> choose_columns(std::string_view names) {
  std::vector<const NodeColumn*> chosen;
  if (names.empty()) {
    for (const NodeColumn& column : node_columns()) chosen.push_back(&column);
    return chosen;
  }
  for (const std::string_view name : base::split(names, ',')) {
    const auto at = std::ranges::find(node_columns(), name, &NodeColumn::name);
    if (at == node_columns().end()) {
      return fail(ErrorKind::kInvalid, "there is no column ", base::in_quotes(name));
    }
    chosen.push_back(&*at);
  }
  return chosen;
}

std::string nodes_document(const View& view, const NodeQuery& query) {
  std::vector<const NodeRow*> shown;
  std::size_t total = 0;
  for (const auto& [name, row] : view.rows()) {
    if (!matches(row, query)) continue;
    if (total++ >= query.offset && shown.size() < query.limit) shown.push_back(&row);
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("total", static_cast<std::int64_t>(total));
  json.key("columns").begin_object();
  for (const NodeColumn* column : query.columns) {
    json.key(column->name).begin_array();
    for (const NodeRow* row : shown) column->write(json, *row);
    json.end_array();
  }
  json.end_object().end_object();
  return out;
}

void write_row(JsonWriter& json, const NodeRow& row) {
  json.begin_array();
  for (const NodeColumn& column : node_columns()) column.write(json, row);
  json.end_array();
}

void write_sums(JsonWriter& json, const Sums& sums) {
  const bool known = sums.unknown < sums.nodes;
  json.begin_object();
  json.member("nodes", sums.nodes);
  json.member("unknown", sums.unknown);
  json.member("on", sums.on);
  json.member("observe", sums.observe);
  json.member("draining", sums.draining);
  json.member("off", sums.off);
  optional_member(json, "tasks", sums.tasks);
  write_amounts(json, "cpu", sums.cpu, known);
  write_amounts(json, "memory", sums.memory, known);
  json.end_object();
}

Result<Price> parse_price(std::string_view text) {
  constexpr double kMicro = 1e6, kPriceMax = 1e6;
  constexpr std::size_t kCurrencyBytesMax = 16;
  const auto blank = text.find(' ');
  const auto amount = base::parse_double(text.substr(0, blank));
  const std::string_view currency = blank == std::string_view::npos ? "" : base::trim(text.substr(blank));
  if (!amount || !(*amount >= 0) || *amount > kPriceMax || currency.empty() || currency.size() > kCurrencyBytesMax) {
    return fail(ErrorKind::kInvalid, base::in_quotes(text), " is no price; expected a number and a currency: 0.03 EUR");
  }
  return Price{std::llround(*amount * kMicro), std::string(currency)};
}

std::string summary_document(View& view, const SummaryHead& head, base::WallTime now) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("version", TIDEMARK_VERSION);
  json.member("cluster", head.cluster);
  json.member("time", seconds(now));
  json.member("readOnly", head.read_only);
  json.key("sources").begin_array();
  for (const SourceState& source : view.sources()) {
    json.begin_object();
    json.member("name", source.name);
    json.member("read", source.synced);
    json.member("incomplete", source.incomplete);
    json.member("objects", static_cast<std::int64_t>(source.objects));
    optional_member(json, "silentSeconds",
                    source.silent ? std::optional<std::int64_t>(
                                        std::chrono::duration_cast<std::chrono::seconds>(*source.silent).count())
                                  : std::nullopt);
    json.end_object();
  }
  json.end_array();
  json.key("sums");
  write_sums(json, view.sums());
  json.key("gain");
  write_gain(json, view.gain(), head.price);
  json.end_object();
  return out;
}

std::string pools_document(View& view, base::WallTime now) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.key("pools").begin_array();
  for (const model::Pool& pool : view.settings().pools().pools) write_pool(json, view, pool, now);
  write_pool(json, view, view.settings().pools().rest, now);
  json.end_array();
  json.end_object();
  return out;
}

std::optional<std::string> pool_document(View& view, std::string_view name, base::WallTime now) {
  const policy::waterline::TidemarkConfig& config = view.settings().pools();
  const model::Pool* pool = config.rest.name == name ? &config.rest : nullptr;
  for (const model::Pool& each : config.pools) {
    if (each.name == name) pool = &each;
  }
  if (pool == nullptr) return std::nullopt;
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.key("pool");
  write_pool(json, view, *pool, now);
  write_pool_orders(json, view, pool->name, now);
  json.key("week");
  if (view.known().settings) {
    const policy::waterline::Calendar& calendar = view.settings().calendar_of(*pool);
    const policy::waterline::LineOverrides overrides = view.settings().overrides_of(*pool, now);
    const auto values = view.settings().strategy_of(*pool).values;
    const auto points = policy::waterline::preview(calendar, values.cpu_reclaim_threshold_percent,
                                                   values.memory_reclaim_threshold_percent, overrides, now);
    json.begin_object();
    json.member("zone", calendar.zone.name());
    const auto column = [&](std::string_view key, auto value) {
      json.key(key).begin_array();
      for (std::size_t i = 0; i < points.size(); i += kLinePointStep) json.value(std::int64_t{value(points[i])});
      json.end_array();
    };
    column("at", [](const policy::waterline::PreviewPoint& point) { return seconds(point.at); });
    column("cpu", [](const policy::waterline::PreviewPoint& point) { return point.plan.cpu.hold; });
    column("memory", [](const policy::waterline::PreviewPoint& point) { return point.plan.memory.hold; });
    Json changes = policy::explain::render_json(policy::explain::PreviewView{calendar, overrides, points});
    json.key("changes").raw(changes["changes"].dump());
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
  return out;
}

std::string problems_document(const View& view) {
  Json out = policy::explain::render_json(view.findings());
  Json whole = Json::object({{"schema", kSchema}});
  whole["severity"] = std::move(out["severity"]);
  whole["findings"] = std::move(out["findings"]);
  return whole.dump();
}

std::string history_document(const View::PointsOfTime& points, base::Duration step) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("stepSeconds", std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(step).count()});
  json.key("at").begin_array();
  for (const HistoryPoint& point : points) json.value(point.at_s);
  json.end_array();
  const auto resource = [&](std::string_view name, const SumAmounts HistoryPoint::* of) {
    json.key(name).begin_object();
    const auto column = [&](std::string_view key, auto value) {
      json.key(key).begin_array();
      for (const HistoryPoint& point : points) optional_value(json, value(point, point.*of));
      json.end_array();
    };
    using Value = std::optional<std::int64_t>;
    column("capacity", [](const HistoryPoint&, const SumAmounts& sum) { return Value(sum.capacity); });
    column("online", [](const HistoryPoint& point, const SumAmounts& sum) {
      return point.known ? Value(sum.online) : std::nullopt;
    });
    column("offline", [](const HistoryPoint& point, const SumAmounts& sum) {
      return point.known ? Value(sum.offline) : std::nullopt;
    });
    column("offered", [](const HistoryPoint&, const SumAmounts& sum) { return Value(sum.offered); });
    column("sold", [](const HistoryPoint&, const SumAmounts& sum) { return sum.sold; });
    column("line", [](const HistoryPoint&, const SumAmounts& sum) { return sum.line; });
    json.end_object();
  };
  resource("cpu", &HistoryPoint::cpu);
  resource("memory", &HistoryPoint::memory);
  json.end_object();
  return out;
}

std::string node_document(const NodeDetail& detail, base::WallTime now) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.key("node").begin_object();
  for (const NodeColumn& column : node_columns()) {
    json.key(column.name);
    column.write(json, detail.row);
  }
  json.end_object();
  json.key("info").begin_object();
  const kube::NodeInfo& info = detail.node.info;
  json.member("kernel", info.kernel_version.view());
  json.member("osImage", info.os_image.view());
  json.member("architecture", info.architecture.view());
  json.member("runtime", info.container_runtime_version.view());
  json.member("kubelet", info.kubelet_version.view());
  json.member("address", detail.node.internal_ip.view());
  json.end_object();
  json.key("conditions").begin_array();
  for (const kube::NodeCondition& condition : detail.node.conditions) {
    json.begin_object();
    json.member("type", condition.type.view());
    json.member("status", truth_word(condition.status));
    json.member("reason", condition.reason.view());
    json.member("message", condition.message.view());
    optional_member(json, "changed", condition.changed ? std::optional(seconds(*condition.changed)) : std::nullopt);
    json.end_object();
  }
  json.end_array();
  json.key("tasks").begin_array();
  for (const Task* task : detail.tasks) {
    json.begin_object();
    write_task_members(json, *task, now);
    const auto use = std::ranges::find_if(detail.uses, [&](const model::PodUsage& each) {
      return each.id == model::PodId{task->meta.ns.view(), task->meta.name.view()};
    });
    const bool known = use != detail.uses.end();
    optional_member(json, "cpuUsed", known ? std::optional(use->usage.cpu.value) : std::nullopt);
    optional_member(json, "memoryUsed", known ? std::optional(use->usage.memory.value) : std::nullopt);
    json.end_object();
  }
  json.end_array();
  json.key("yarn");
  write_yarn_of_node(json, detail.node);
  json.key("explanation");
  if (detail.explanation) {
    json.raw(detail.explanation->dump());
    json.key("explanationError").null();
  } else {
    json.null();
    json.member("explanationError", detail.explanation.error().message);
  }
  json.end_object();
  return out;
}

}  // namespace tidemark::console

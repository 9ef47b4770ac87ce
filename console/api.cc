#include "console/api.h"
#include "console/calendar_preview.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "console/documents.h"
#include "console/guard.h"
#include "console/offline_document.h"
#include "console/page.h"
#include "console/pool_label_api.h"
#include "console/task_end.h"
#include "kube/objects.h"
#include "model/names.h"
#include "operate/explain.h"
#include "operate/off_progress.h"

namespace tidemark::console {
namespace {

constexpr base::Duration kReadLimit = std::chrono::seconds(20);  // for one node's detail
constexpr std::int64_t kPageMax = 1000;                          // tasks in one answer
constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kForever = "public, max-age=31536000, immutable";
constexpr std::size_t kNameBytesMax = 253;
// A stream of the cluster form ends after this, so that a page that opens it anew shows its session again.
constexpr base::Duration kStreamLife = std::chrono::minutes(5);

// Paths that the page itself interprets.
bool is_page_path(std::string_view path) {
  constexpr std::array<std::string_view, 12> kPages = {"/",         "/nodes",     "/pools",    "/offline",
                                                       "/online",   "/decisions", "/settings", "/calendar",
                                                       "/platform", "/yarn",      "/join",     "/spark"};
  if (std::ranges::find(kPages, path) != kPages.end()) return true;
  return path.starts_with("/nodes/") || path.starts_with("/pools/");
}

// The methods of a path of the API, as openapi.json has them; "": there is no such path.
std::string_view methods_of(std::string_view what) {
  constexpr std::array<std::string_view, 9> kWritten = {"settings/undo",         "settings/pause", "settings/resume",
                                                        "settings/text-changes", "overrides",      "tasks/end",
                                                        "pool-labels",           "login",          "logout"};
  constexpr std::array<std::string_view, 9> kRead = {"summary", "nodes",   "pools",  "offline", "problems",
                                                     "history", "session", "stream", "spark"};
  if (what == "orders" || what == "calendar") return "GET, HEAD, POST";
  if (what == "settings/texts") return "GET, HEAD, PUT";
  if (std::ranges::find(kWritten, what) != kWritten.end()) return "POST";
  if (what.starts_with("pools/") && what.ends_with("/resume")) return "POST";
  const bool one = what.starts_with("nodes/") || what.starts_with("pools/") || what.starts_with("orders/");
  const bool read = one || RecordApi::has(what) || std::ranges::find(kRead, what) != kRead.end();
  return read ? "GET, HEAD" : "";
}

bool takes(std::string_view methods, std::string_view method) {
  return std::ranges::any_of(base::split(methods, ','),
                             [&](std::string_view each) { return base::trim(each) == method; });
}

// A whole number of the query; `otherwise` if it is absent.
Result<std::size_t> number(const net::Target& target, std::string_view key, std::size_t otherwise, std::int64_t max) {
  if (!target.has(key)) return otherwise;
  const auto value = base::parse_int(target.get(key));
  if (!value || *value < 0 || *value > max) {
    return fail(ErrorKind::kInvalid, key, ": ", base::in_quotes(target.get(key)), " is not a number from 0 to ", max);
  }
  return static_cast<std::size_t>(*value);
}

// What a person must be allowed to read besides nodes and pods, to see the answer of this path. Nodes and pods are
// enough for sums, rows of nodes, problems, history, offline tasks and online services.
std::vector<ReadAccess> read_access(std::string_view what, const ViewOptions& settings) {
  const auto map = [&](std::string_view name) {
    return ReadAccess{"get", "", "configmaps", settings.config_namespace, std::string(name)};
  };
  const ReadAccess events{"list", "", "events", "", ""};
  const ReadAccess leases{"list", "coordination.k8s.io", "leases", settings.config_namespace, ""};
  const ReadAccess pools = map(model::kTidemarkConfigName), colocation = map(settings.config_name);
  const ReadAccess state = map(model::kStateName);  // orders and overrides: who and why
  if (what.starts_with("settings")) return {colocation, pools};
  if (what == "calendar" || what == "pools" || what.starts_with("pools/")) return {pools, state};
  if (what.starts_with("nodes/") || what == "past/offer") return {colocation, pools, state, events};
  if (what == "budgets") return {map(model::kBudgetsName)};
  if (what.starts_with("orders")) return {map(operate::kOffProgressName)};
  if (what == "decisions" || what.starts_with("past/")) return {events};
  if (what == "yarn") return {events, leases};
  if (what == "platform") return {leases};
  return {};
}

kube::NodeFields detail_fields() {
  kube::NodeFields fields = node_fields();
  fields.condition_messages = kube::KeyFilter::all();
  return fields;
}

}  // namespace

net::Task<void> Api::handle(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  if (target && target->path.starts_with(kApi)) {
    const std::string_view methods = methods_of(std::string_view(target->path).substr(kApi.size()));
    if (!methods.empty() && !takes(methods, exchange.head().method)) {
      co_return respond_method(exchange, target->path, methods);
    }
  }
  if (const auto refused = refuse(exchange.head(), parts_.site)) {
    respond_problem(exchange, refused->status, refused->id, refused->detail);
    co_return;
  }
  if (!target) {
    respond_problem(exchange, 400, "target", "the path or the query is not valid percent-encoded UTF-8");
    co_return;
  }
  const std::string_view path = target->path;
  if (exchange.head().method == "POST" || exchange.head().method == "PUT") {
    co_await write(exchange, path);
    co_return;
  }
  if (parts_.login != nullptr && parts_.login->is_of_issuer(path)) {
    co_await parts_.login->log_in_by_issuer(exchange, std::string(path));
    co_return;
  }
  if (!path.starts_with(kApi)) {
    page(exchange, path);
    co_return;
  }
  const std::string_view what = path.substr(kApi.size());
  if (what == "session") {
    co_await session(exchange);
    co_return;
  }
  if (const auto known = co_await person(exchange); !known) {
    respond_login_error(exchange, known.error());
    co_return;
  }
  if (const auto may = co_await may_see(exchange, std::string(what)); !may) {
    respond_login_error(exchange, may.error());
    co_return;
  }
  const base::WallTime now = parts_.loop.clock().wall();
  if (what == "stream") {
    co_await parts_.stream.serve(exchange, parts_.login == nullptr ? std::nullopt : std::optional(kStreamLife));
  } else if (what == "summary") {
    respond_json(exchange, summary_document(parts_.view, {parts_.cluster, read_only(), parts_.price}, now));
  } else if (what == "nodes") {
    nodes(exchange, *target);
  } else if (what.starts_with("nodes/")) {
    co_await node(exchange, std::string(what.substr(6)));
  } else if (what == "pools") {
    respond_json(exchange, pools_document(parts_.view, now));
  } else if (what.starts_with("pools/")) {
    pool(exchange, what.substr(6));
  } else if (what == "offline") {
    offline(exchange, *target);
  } else if (what == "problems") {
    respond_json(exchange, problems_document(parts_.view));
  } else if (what == "history") {
    history(exchange, target->get("pool"));
  } else if (what == "settings/texts") {
    co_await parts_.settings_api.texts(exchange);
  } else if (what == "spark") {
    co_await show_spark_runs(exchange, *target, parts_.gateway, parts_.price);
  } else if (RecordApi::has(what)) {
    co_await records_.handle(exchange, std::string(what), *target);
  } else if (what == "orders") {
    parts_.orders.list(exchange);
  } else if (what.starts_with("orders/")) {
    parts_.orders.one(exchange, what.substr(7));
  } else {
    respond_problem(exchange, 404, "not-found",
                    base::cat("there is no ", base::in_quotes(path), "; /api/openapi.json lists what there is"));
  }
}

net::Task<void> Api::write(net::HttpExchange& exchange, std::string_view path) {
  const std::string method(exchange.head().method);
  const bool post = method == "POST";
  if (post && parts_.login != nullptr && path == "/api/v1/login") {
    co_await parts_.login->log_in(exchange);
    co_return;
  }
  if (post && parts_.login != nullptr && path == "/api/v1/logout") co_return parts_.login->log_out(exchange);
  std::string what(path.starts_with(kApi) ? path.substr(kApi.size()) : std::string_view());
  const bool order = post && what == "orders";
  const bool task = post && what == "tasks/end";
  const bool pool = post && what == "pool-labels";
  const bool calendar = post && what == "calendar";
  if (!order && !task && !pool && !calendar && !SettingsApi::takes(method, what)) {
    if (!path.starts_with(kApi)) co_return respond_method(exchange, path, "GET, HEAD");
    respond_problem(
        exchange, 404, "not-found",
        base::cat("there is nothing to write at ", base::in_quotes(path), "; /api/openapi.json lists what there is"));
    co_return;
  }
  auto giver = co_await person(exchange);
  if (!giver) {
    respond_login_error(exchange, giver.error());
    co_return;
  }
  if (!*giver) {
    respond_problem(exchange, 403, "read-only", "this console is read-only; start it with --write to give orders");
    co_return;
  }
  if (calendar) {
    if (const auto may = co_await may_see(exchange, what); !may) co_return respond_login_error(exchange, may.error());
  }
  if (order) {
    co_await parts_.orders.post(exchange, std::move(**giver));
  } else if (task) {
    co_await end_task(exchange, std::move(**giver));
  } else if (pool) {
    co_await set_pool_of_nodes(exchange, std::move(**giver), parts_.settings);
  } else if (calendar) {
    co_await preview_calendar(exchange, parts_.view, parts_.loop.clock().wall());
  } else {
    co_await parts_.settings_api.write(exchange, std::move(what), std::move(**giver));
  }
}

// Of the laptop form what it was started with; kDenied without a valid session.
net::Task<Result<std::optional<Person>>> Api::person(net::HttpExchange& exchange) {
  if (parts_.login == nullptr) co_return parts_.person;
  TM_CO_TRY(auto person, co_await parts_.login->person(exchange.head()));
  co_return std::optional(std::move(person));
}

net::Task<Result<void>> Api::may_see(net::HttpExchange& exchange, std::string what) {
  if (parts_.login == nullptr) co_return Result<void>();
  for (const ReadAccess& access : read_access(what, parts_.settings)) {
    TM_CO_TRY_VOID(co_await parts_.login->check_read(exchange.head(), access));
  }
  co_return Result<void>();
}

net::Task<void> Api::session(net::HttpExchange& exchange) {
  if (parts_.login != nullptr) {
    co_await parts_.login->session(exchange);
    co_return;
  }
  const auto ask = std::chrono::duration_cast<std::chrono::seconds>(Login::kAskMax).count();
  const Json user = parts_.person ? Json(parts_.person->name) : Json();
  respond_json(
      exchange,
      Json::object({{"schema", 1}, {"login", false}, {"user", user}, {"issuer", nullptr}, {"askSeconds", ask}}).dump());
}

void Api::nodes(net::HttpExchange& exchange, const net::Target& target) {
  NodeQuery query;
  auto columns = choose_columns(target.get("columns"));
  if (!columns) return respond_error(exchange, columns.error(), "columns");
  query.columns = std::move(*columns);
  query.pool = target.get("pool");
  query.state = target.get("state");
  query.text = target.get("q");
  if (target.has("state") && !model::parse_node_state(query.state)) {
    return respond_problem(
        exchange, 400, "invalid",
        base::cat("state: ", base::in_quotes(query.state), " is not a state; expected on, observe, draining or off"),
        "state");
  }
  const auto offset = number(target, "offset", 0, View::kNodesMax);
  if (!offset) return respond_error(exchange, offset.error(), "offset");
  const auto limit = number(target, "limit", View::kNodesMax, View::kNodesMax);
  if (!limit) return respond_error(exchange, limit.error(), "limit");
  query.offset = *offset;
  query.limit = *limit;
  respond_json(exchange, nodes_document(parts_.view, query));
}

void Api::offline(net::HttpExchange& exchange, const net::Target& target) {
  TaskQuery query;
  if (target.has("class")) query.work_class = target.get("class");
  query.phase = target.get("phase");
  query.node = target.get("node");
  query.text = base::lower(target.get("q"));
  if (target.has("phase") && !is_task_phase(query.phase)) {
    return respond_problem(exchange, 400, "invalid",
                           base::cat("phase: ", base::in_quotes(query.phase),
                                     " is not a phase; expected waiting, running, over or abnormal"),
                           "phase");
  }
  const auto offset = number(target, "offset", 0, View::kTasksMax);
  if (!offset) return respond_error(exchange, offset.error(), "offset");
  const auto limit = number(target, "limit", 200, kPageMax);
  if (!limit) return respond_error(exchange, limit.error(), "limit");
  query.offset = *offset;
  query.limit = *limit;
  respond_json(exchange, offline_document(parts_.view, query, parts_.loop.clock().wall()));
}

void Api::history(net::HttpExchange& exchange, std::string_view pool) {
  if (pool.empty()) return respond_json(exchange, history_document(parts_.view.history(), View::kHistoryStep));
  if (const auto* points = parts_.view.history_of(pool)) {
    return respond_json(exchange, history_document(*points, View::kPoolStep));
  }
  respond_problem(exchange, 404, "not-found", base::cat("there is no history of a pool ", base::in_quotes(pool)),
                  "pool");
}

void Api::pool(net::HttpExchange& exchange, std::string_view name) {
  auto found = pool_document(parts_.view, name, parts_.loop.clock().wall());
  if (found) return respond_json(exchange, std::move(*found));
  respond_problem(exchange, 404, "not-found", base::cat("there is no pool ", base::in_quotes(name)));
}

net::Task<void> Api::node(net::HttpExchange& exchange, std::string name) {
  if (name.empty() || name.size() > kNameBytesMax || name.find('/') != std::string::npos) {
    respond_problem(exchange, 404, "not-found", base::cat(base::in_quotes(name), " is not the name of a node"));
    co_return;
  }
  const auto detail = co_await node_detail(std::move(name));
  if (!detail) {
    respond_error(exchange, detail.error());
    co_return;
  }
  respond_json(exchange, *detail);
}

net::Task<Result<std::string>> Api::node_detail(std::string name) {
  const base::MonotonicTime now = parts_.loop.clock().monotonic();
  if (const auto kept = details_.find(name); kept != details_.end() && now - kept->second.at < kDetailLife) {
    co_return kept->second.body;
  }
  if (!parts_.view.rows().contains(name)) {
    if (!parts_.view.synced()) co_return fail(ErrorKind::kUnavailable, "the cluster is not read yet");
    co_return fail(ErrorKind::kNotFound, "there is no node ", base::in_quotes(name));
  }
  if (reading_ >= kDetailsAtOnce) {
    co_return fail(ErrorKind::kExhausted, kDetailsAtOnce, " nodes are being read already; try again");
  }
  struct Count {
    int& of;
    explicit Count(int& count) : of(count) { ++of; }
    ~Count() { --of; }
  } count(reading_);

  kube::Interner interner;
  TM_CO_TRY(const auto node_bytes, co_await parts_.client.get(kube::kNodes, "", name, kReadLimit));
  TM_CO_TRY(const kube::Node node, kube::decode_node(node_bytes, detail_fields(), interner));
  std::vector<model::PodUsage> uses;
  if (const auto bytes = co_await parts_.client.get(kube::kNodeMetrics, "", name, kReadLimit)) {
    if (auto metric = kube::decode_node_metric(*bytes, {}, interner)) uses = std::move(metric->pods);
  }
  operate::ExplainQuestion question;
  question.node = name;
  question.config_namespace = parts_.settings.config_namespace;
  question.config_name = parts_.settings.config_name;
  question.zones = parts_.settings.zones;
  question.plugins = parts_.plugins;
  question.limit = kReadLimit;
  const auto explained = co_await operate::explain_node(parts_.loop, parts_.client, std::move(question));
  Result<Json> explanation =
      explained ? Result<Json>(operate::render_json(*explained)) : std::unexpected(explained.error());
  const auto row = parts_.view.rows().find(name);
  if (row == parts_.view.rows().end()) co_return fail(ErrorKind::kNotFound, "there is no node ", base::in_quotes(name));
  std::string body =
      node_document({node, row->second, parts_.view.tasks_on(name), std::move(uses), std::move(explanation)},
                    parts_.loop.clock().wall());
  if (details_.size() >= kDetailsKept) {
    details_.erase(std::ranges::min_element(details_, {}, [](const auto& each) { return each.second.at; }));
  }
  details_.insert_or_assign(std::move(name), Detail{now, body});
  co_return body;
}

void Api::page(net::HttpExchange& exchange, std::string_view path) {
  if (path == "/metrics" && parts_.login == nullptr) {
    net::Headers headers = answer_headers("text/plain; version=0.0.4; charset=utf-8", "no-store");
    return exchange.respond(200, std::move(headers), net::make_buffer(parts_.metrics.text()));
  }
  if (path == "/api/openapi.json") return respond_json(exchange, std::string(openapi_text()));
  const std::string_view file = is_page_path(path) ? "/index.html" : path;
  const auto files = page_files();
  const auto found = std::ranges::find(files, file, &PageFile::path);
  if (found == files.end()) {
    const bool left_out = files.empty() && is_page_path(path);
    return respond_problem(exchange, left_out ? 501 : 404, left_out ? "no-page" : "not-found",
                           left_out ? std::string("this program was built without the page, because Node.js was "
                                                  "missing; the API is at /api/openapi.json")
                                    : base::cat("there is no ", base::in_quotes(path)));
  }
  const bool br = accepts(exchange.head(), "br");
  if (!br && !accepts(exchange.head(), "gzip")) {
    return respond_problem(exchange, 406, "encoding", "the page exists only compressed; accept gzip or br");
  }
  const bool index = found->path == "/index.html";
  net::Headers headers = answer_headers(found->content_type, index ? "no-cache" : kForever);
  headers.set("content-encoding", br ? "br" : "gzip");
  headers.set("vary", "accept-encoding");
  exchange.respond(200, std::move(headers), net::make_buffer(std::string(br ? found->br : found->gz)));
}

}  // namespace tidemark::console

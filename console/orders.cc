#include "console/orders.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "console/guard.h"
#include "operate/classes.h"
#include "operate/evict.h"
#include "operate/order.h"

namespace tidemark::console {
namespace {

constexpr std::size_t kBodyBytesMax = 256 * 1024;
constexpr std::size_t kKeyBytesMax = 200;

// The nodes of a pool; notes go into `note`.
net::Task<Result<void>> find_pool_of_order(kube::Client& client, operate::OrderOptions& order, std::string& note) {
  if (order.scope != operate::OrderScope::kPool) co_return Result<void>();
  TM_CO_TRY(auto pools, co_await operate::pools_for_order(client, order));
  order.pools = std::move(pools.config);
  note = std::move(pools.note);
  co_return Result<void>();
}

// The error of an order that reached no node at all.
std::optional<Error> failure_of(const operate::OrderReport& report) {
  if (report.nodes.empty() || report.stored || report.was_stored) return std::nullopt;
  const bool all = std::ranges::all_of(
      report.nodes, [](const operate::OrderedNode& node) { return node.outcome == operate::OrderOutcome::kFailed; });
  if (!all) return std::nullopt;
  const operate::OrderedNode& first = report.nodes.front();
  return Error{first.problem_kind, base::cat("node ", first.name, ": ", first.problem), 0, 0};
}

}  // namespace

struct Orders::Given {
  Given(net::EventLoop& loop, Person of, std::string idempotency_key, std::string text)
      : person(std::move(of)), key(std::move(idempotency_key)), body(std::move(text)), written(loop) {}

  OrderState state;
  operate::EvictOptions evict;
  Person person;  // without writer once it is over
  std::string key, body;
  net::Event written;  // set when all nodes are written, or the order failed

  bool over() const { return state.phase == OrderPhase::kDone || state.phase == OrderPhase::kFailed; }
};

Orders::Orders(net::EventLoop& loop, const base::Log& log, View& view, base::Registry& metrics, base::Random random,
               ViewOptions settings)
    : loop_(loop),
      log_(log.named("orders")),
      view_(view),
      random_(std::move(random)),
      settings_(std::move(settings)),
      given_(metrics.counter("tidemark_console_orders_total", "Orders that were given through the console.")),
      scope_(loop) {}

net::Task<void> Orders::post(net::HttpExchange& exchange, Person person) {
  auto body = co_await exchange.body(kBodyBytesMax);
  if (!body) {
    respond_problem(exchange, body.error().kind == ErrorKind::kExhausted ? 413 : 408, "body", body.error().message);
    co_return;
  }
  auto request = parse_order(*body);
  if (!request) {
    respond_problem(exchange, 400, "invalid-order", request.error().detail, request.error().field);
    co_return;
  }
  request->order.command.by = person.name;
  request->order.config_namespace = settings_.config_namespace;
  request->order.zones = settings_.zones;
  if (request->order.dry_run) {
    co_await preview(exchange, std::move(*request), std::move(person));
    co_return;
  }
  const std::string key(exchange.head().headers.get("idempotency-key"));
  if (key.empty() || key.size() > kKeyBytesMax) {
    respond_problem(exchange, 400, "idempotency-key",
                    "an order needs the header Idempotency-Key: any text that is new for each order",
                    "Idempotency-Key");
    co_return;
  }
  const auto same = std::ranges::find_if(
      all_, [&](const auto& each) { return each->key == key && each->person.name == person.name; });
  if (same != all_.end()) {
    if ((*same)->body != *body) {
      respond_problem(exchange, 422, "idempotency-key", "another order had this Idempotency-Key", "Idempotency-Key");
      co_return;
    }
    co_await answer(exchange, *same);
    co_return;
  }
  if (request->order.command.evict) {
    if (const Given* other = evicting(operate::scope_text(request->order))) {
      respond_problem(exchange, 409, "under-way",
                      base::cat("order ", other->state.id, " of ", other->person.name, " evicts there already"));
      co_return;
    }
  }
  if (running() >= kRunningMax) {
    respond_problem(exchange, 503, "unavailable", base::cat(kRunningMax, " orders are under way already; try again"));
    co_return;
  }
  const auto given = take(std::move(*request), std::move(person), key, std::move(*body));
  scope_.spawn(carry_out(given));
  co_await answer(exchange, given);
}

net::Task<void> Orders::preview(net::HttpExchange& exchange, OrderRequest request, Person person) {
  std::string note;
  const auto found = co_await find_pool_of_order(*person.writer, request.order, note);
  if (!found) {
    respond_error(exchange, found.error(), "pool");
    co_return;
  }
  auto report = co_await operate::give_order(loop_, *person.writer, request.order, nullptr);
  if (!report) {
    respond_error(exchange, report.error());
    co_return;
  }
  if (const auto failed = failure_of(*report)) {
    respond_error(exchange, *failed);
    co_return;
  }
  if (!note.empty()) report->notes.push_back(std::move(note));
  respond_json(exchange, preview_document(view_, *report, request.order, loop_.clock().wall()));
}

std::shared_ptr<Orders::Given> Orders::take(OrderRequest request, Person person, std::string key, std::string body) {
  auto given = std::make_shared<Given>(loop_, std::move(person), std::move(key), std::move(body));
  given->state.id = base::cat(random_.next() >> 1);
  given->state.at = loop_.clock().wall();
  given->state.order = std::move(request.order);
  given->evict = request.evict;
  all_.push_front(given);
  for (auto at = all_.end(); all_.size() > kKept && at != all_.begin();) {
    --at;
    if ((*at)->over()) at = all_.erase(at);
  }
  given_.add(1);
  log_.info("order", {{"verb", to_string(given->state.order.command.wish)},
                      {"scope", operate::scope_text(given->state.order)},
                      {"by", given->person.name},
                      {"reason", given->state.order.command.why}});
  return given;
}

net::Task<void> Orders::carry_out(std::shared_ptr<Given> given) {
  OrderState& state = given->state;
  kube::Client& client = *given->person.writer;
  const auto fail_with = [&](Error error) {
    log_.warn("order failed", {{"id", state.id}, {"error", error.message}});
    state.error = std::move(error);
    state.phase = OrderPhase::kFailed;
    given->person.writer.reset();
    given->written.set();
  };
  const auto classes = co_await operate::check_classes(loop_, client, state.order);
  if (!classes) co_return fail_with(classes.error());
  std::string note;
  if (const auto found = co_await find_pool_of_order(client, state.order, note); !found)
    co_return fail_with(found.error());
  auto report = co_await operate::give_order(loop_, client, state.order,
                                             [&](const operate::OrderProgress& seen) { state.marked = seen; });
  if (!report) co_return fail_with(report.error());
  for (const std::string& each : {note, *classes}) {
    if (!each.empty()) report->notes.push_back(each);
  }
  state.report = std::move(*report);
  if (auto failed = failure_of(*state.report)) co_return fail_with(std::move(*failed));
  if (!state.order.command.evict) {
    state.phase = OrderPhase::kDone;
    given->person.writer.reset();
    co_return given->written.set();
  }
  state.phase = OrderPhase::kEvicting;
  given->written.set();
  const base::Duration limit = operate::default_wait(given->evict);
  state.eviction = co_await operate::evict_offline(loop_, client, log_, random_.fork(), *state.report,
                                                   {state.order, given->evict, limit},
                                                   [&](const operate::OffProgress& seen) { state.eviction = seen; });
  if (!state.eviction->problem.empty()) co_return fail_with({ErrorKind::kUnavailable, state.eviction->problem, 0, 0});
  state.phase = OrderPhase::kDone;
  given->person.writer.reset();
}

net::Task<void> Orders::answer(net::HttpExchange& exchange, std::shared_ptr<Given> given) {
  co_await given->written.wait_for(kAnswerWait);
  if (given->state.error) {
    respond_error(exchange, *given->state.error);
    co_return;
  }
  net::Headers headers = answer_headers("application/json", "no-store");
  headers.set("location", base::cat("/api/v1/orders/", given->state.id));
  Json body = Json::object({{"schema", 1}, {"order", order_json(given->state)}});
  exchange.respond(202, std::move(headers), net::make_buffer(body.dump()));
}

void Orders::list(net::HttpExchange& exchange) const {
  Json body =
      Json::object({{"schema", 1}, {"evictions", evictions_json(view_.evictions())}, {"orders", Json::array()}});
  for (const auto& each : all_) body["orders"].as_array().push_back(order_json(each->state));
  respond_json(exchange, body.dump());
}

void Orders::one(net::HttpExchange& exchange, std::string_view id) const {
  const auto found = std::ranges::find_if(all_, [&](const auto& each) { return each->state.id == id; });
  if (found == all_.end()) {
    return respond_problem(exchange, 404, "not-found",
                           base::cat("this console knows no order ", base::in_quotes(id),
                                     "; what is stored of evictions is at /api/v1/orders"));
  }
  respond_json(exchange, Json::object({{"schema", 1}, {"order", order_json((*found)->state)}}).dump());
}

const Orders::Given* Orders::evicting(std::string_view scope) const {
  const auto found = std::ranges::find_if(all_, [&](const auto& each) {
    return !each->over() && each->state.order.command.evict && operate::scope_text(each->state.order) == scope;
  });
  return found == all_.end() ? nullptr : found->get();
}

std::size_t Orders::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(all_, [](const auto& each) { return !each->over(); }));
}

}  // namespace tidemark::console

#include "console/pool_label_api.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/body.h"
#include "console/guard.h"
#include "console/json_values.h"
#include "operate/pool_label.h"

namespace tidemark::console {
namespace {

constexpr std::size_t kPoolBodyBytesMax = 64 * 1024;
constexpr std::size_t kPoolNodesMax = 200;
constexpr std::size_t kPoolNameBytesMax = 253;
constexpr std::array<std::string_view, 3> kPoolMembers = {"nodes", "pool", "dryRun"};

}  // namespace

net::Task<void> set_pool_of_nodes(net::HttpExchange& exchange, Person person, ViewOptions settings) {
  auto body = co_await exchange.body(kPoolBodyBytesMax);
  if (!body) {
    respond_problem(exchange, body.error().kind == ErrorKind::kExhausted ? 413 : 408, "body", body.error().message);
    co_return;
  }
  const auto json = parse_body(*body, kPoolMembers);
  if (!json) co_return respond_problem(exchange, 400, "invalid", json.error().detail, json.error().field);
  Members members(*json);
  operate::PoolLabelOptions options;
  options.nodes = members.texts("nodes");
  options.pool = members.text("pool");
  options.dry_run = members.flag("dryRun");
  options.config_namespace = settings.config_namespace;
  options.zones = settings.zones;
  if (options.nodes.empty()) members.wrong("nodes", "expected the names of the nodes");
  if (options.nodes.size() > kPoolNodesMax) members.wrong("nodes", base::cat("at most ", kPoolNodesMax, " at once"));
  for (const auto& name : options.nodes) {
    if (name.empty() || name.size() > kPoolNameBytesMax || name.find('/') != std::string::npos) {
      members.wrong("nodes", base::cat(base::in_quotes(name), " is not the name of a node"));
    }
  }
  if (options.pool.empty()) members.wrong("pool", "expected the name of the pool");
  if (const auto& wrong = members.first_wrong()) {
    co_return respond_problem(exchange, 400, "invalid", wrong->detail, wrong->field);
  }
  const bool dry_run = options.dry_run;
  const std::string pool = options.pool;
  const auto done = co_await operate::label_pool(*person.writer, std::move(options));
  if (!done) co_return respond_error(exchange, done.error(), "pool");
  Json nodes = Json::array();
  for (const auto& each : *done) {
    nodes.as_array().push_back(Json::object({{"name", each.name},
                                             {"before", each.before},
                                             {"after", each.after},
                                             {"problem", each.problem.empty() ? Json() : Json(each.problem)}}));
  }
  const Json answer =
      Json::object({{"schema", kSchema}, {"pool", pool}, {"dryRun", dry_run}, {"nodes", std::move(nodes)}});
  exchange.respond(200, answer_headers("application/json", "no-store"), net::make_buffer(answer.dump()));
}

}  // namespace tidemark::console

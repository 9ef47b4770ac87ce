#include "console/order_request.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "operate/order_limits.h"
#include "policy/state/order.h"

namespace tidemark::console {
namespace {

using base::cat;
using base::in_quotes;
using policy::state::Wish;

constexpr std::array<std::string_view, 13> kMembers = {
    "verb",  "scope",        "nodes",           "pool",   "only",         "reason", "drainSeconds",
    "evict", "graceSeconds", "budgetPerMinute", "atOnce", "lastsSeconds", "dryRun"};
constexpr std::size_t kNodeNameBytesMax = 253;

void read_scope(Members& members, operate::OrderOptions& order) {
  const std::string scope = members.text("scope");
  order.nodes = members.texts("nodes");
  order.pool = members.text("pool");
  if (scope == "node") {
    order.scope = operate::OrderScope::kNode;
    if (order.nodes.empty()) members.wrong("nodes", "expected the names of the nodes");
    if (order.nodes.size() > kOrderNodesMax) members.wrong("nodes", cat("at most ", kOrderNodesMax, " nodes at once"));
    for (const auto& name : order.nodes) {
      if (name.empty() || name.size() > kNodeNameBytesMax || name.find('/') != std::string::npos) {
        members.wrong("nodes", cat(in_quotes(name), " is not the name of a node"));
      }
    }
  } else if (scope == "pool") {
    order.scope = operate::OrderScope::kPool;
    if (order.pool.empty()) members.wrong("pool", "expected the name of the pool");
  } else if (scope == "cluster") {
    order.scope = operate::OrderScope::kCluster;
  } else {
    members.wrong("scope", cat("expected node, pool or cluster, found ", in_quotes(scope)));
  }
  if (scope != "node" && members.has("nodes")) members.wrong("nodes", "goes only with scope node");
  if (scope != "pool" && members.has("pool")) members.wrong("pool", "goes only with scope pool");
}

void read_command(Members& members, policy::state::StateCommand& command) {
  const std::string verb = members.text("verb");
  if (verb == "off") {
    command.wish = Wish::kOff;
  } else if (verb == "on") {
    command.wish = Wish::kOn;
  } else if (verb == "observe") {
    command.wish = Wish::kObserve;
  } else {
    members.wrong("verb", cat("expected off, on or observe, found ", in_quotes(verb)));
  }
  command.why = read_reason(members);
  auto parts = policy::state::parse_parts(members.texts("only"));
  if (!parts) members.wrong("only", parts.error().message);
  if (parts) command.only = std::move(*parts);
  if (command.wish == Wish::kObserve && members.has("only")) members.wrong("only", "does not go with observe");
  command.evict = members.flag("evict");
  const auto drain = members.seconds("drainSeconds", base::Duration(0), operate::kDrainMax);
  if (drain && (command.wish != Wish::kOff || command.evict)) {
    members.wrong("drainSeconds", "goes only with off without evict");
  }
  if (command.wish == Wish::kOff && !command.evict) command.drain = drain.value_or(operate::kDrainDefault);
  command.lasts = members.seconds("lastsSeconds", std::chrono::seconds(1), operate::kLastsMax);
}

void read_eviction(Members& members, const policy::state::StateCommand& command, operate::EvictOptions& evict) {
  if (command.evict && command.wish != Wish::kOff) members.wrong("evict", "goes only with off");
  if (command.evict && !command.only.all()) members.wrong("only", "evict covers all offline work");
  if (const auto grace = members.seconds("graceSeconds", operate::kGraceMin, operate::kGraceMax)) evict.grace = *grace;
  if (const auto budget = members.number("budgetPerMinute", 1, operate::kPerMinuteMax)) evict.per_minute = *budget;
  evict.at_once = members.flag("atOnce");
  if (!command.evict) {
    for (const std::string_view name : {"graceSeconds", "budgetPerMinute", "atOnce"}) {
      if (members.has(name)) members.wrong(name, "goes only with evict");
    }
  }
  if (evict.at_once && members.has("budgetPerMinute")) members.wrong("budgetPerMinute", "atOnce has no budget");
}

}  // namespace

std::expected<OrderRequest, WrongBody> parse_order(std::string_view body) {
  const auto json = parse_body(body, kMembers);
  if (!json) return std::unexpected(json.error());
  Members members(*json);
  OrderRequest out;
  read_command(members, out.order.command);
  read_scope(members, out.order);
  read_eviction(members, out.order.command, out.evict);
  out.order.dry_run = members.flag("dryRun");
  if (members.first_wrong()) return std::unexpected(*members.first_wrong());
  return out;
}

}  // namespace tidemark::console

#include "console/pool_orders.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "console/json_values.h"
#include "console/rows.h"
#include "kube/objects.h"
#include "policy/state/order.h"

namespace tidemark::console {
namespace {

using policy::state::StateMark;
using policy::state::StateOrder;

constexpr std::size_t kOrderNamesMax = 5;  // nodes that one order names
constexpr std::size_t kPoolOrdersMax = 200;

struct OrderOfPool {
  std::string_view scope;
  StateOrder order;
  bool in_force = false;
  std::int64_t nodes = 0;
  std::vector<std::string> names{};  // of scope node: the first
};

// Those of a mark that have not ended, the one in force first.
void add_mark(std::vector<OrderOfPool>& to, std::string_view scope, const StateMark& mark, std::int64_t nodes,
              base::WallTime now) {
  const StateOrder* in_force = policy::state::in_force(mark, now);
  for (const StateOrder& order : mark.orders) {
    if (!order.until || *order.until > now) to.push_back({scope, order, &order == in_force, nodes});
  }
}

// Draining is over on some nodes sooner than on others; that makes no other order of it.
StateOrder as_ordered(StateOrder order) {
  order.drained = false;
  return order;
}

// false: the list is full, so an order of the node is left off.
bool add_node(std::vector<OrderOfPool>& to, std::string_view name, const StateMark& mark, base::WallTime now) {
  bool complete = true;
  std::vector<OrderOfPool> own;
  add_mark(own, "node", mark, 0, now);
  for (OrderOfPool& each : own) {
    each.order = as_ordered(std::move(each.order));
    const auto same = std::ranges::find_if(
        to, [&](const OrderOfPool& other) { return other.in_force == each.in_force && other.order == each.order; });
    if (same == to.end() && to.size() >= kPoolOrdersMax) {
      complete = false;
      continue;
    }
    OrderOfPool& into = same == to.end() ? to.emplace_back(std::move(each)) : *same;
    ++into.nodes;
    if (into.names.size() < kOrderNamesMax) into.names.emplace_back(name);
  }
  return complete;
}

void write_texts(base::JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& each : texts) json.value(each);
  json.end_array();
}

void write_order(base::JsonWriter& json, const OrderOfPool& each) {
  json.begin_object();
  json.member("scope", each.scope);
  json.member("nodes", each.nodes);
  write_texts(json, "names", each.names);
  json.member("verb", to_string(each.order.wish));
  write_texts(json, "only", policy::state::part_words(each.order.only));
  json.member("evict", each.order.evict);
  json.member("by", each.order.by);
  json.member("reason", each.order.why);
  // An order that is only a label has no time.
  seconds_member(json, "at", each.order.since == base::WallTime{} ? std::nullopt : std::optional(each.order.since));
  seconds_member(json, "until", each.order.until);
  json.member("inForce", each.in_force);
  json.end_object();
}

}  // namespace

void write_pool_orders(base::JsonWriter& json, View& view, std::string_view pool, base::WallTime now) {
  json.key("orders");
  const auto& ordered = view.settings().ordered();
  if (!view.known().settings || !ordered) {
    json.null().member("ordersLeftOff", 0);
    return;
  }
  std::vector<OrderOfPool> orders, of_nodes;
  std::int64_t nodes = 0, left_off = 0;
  for (const auto& [name, row] : view.rows()) {
    const kube::Node* node = row.pool == pool ? view.node(name) : nullptr;
    if (node == nullptr) continue;
    ++nodes;
    const policy::state::NodeMarks marks = marks_of(*node);
    if (marks.node && !add_node(of_nodes, name, *marks.node, now)) ++left_off;
  }
  if (ordered->cluster) add_mark(orders, "cluster", *ordered->cluster, nodes, now);
  if (const StateMark* mark = ordered->pool(pool)) add_mark(orders, "pool", *mark, nodes, now);
  json.begin_array();
  for (const auto* list : {&orders, &of_nodes}) {
    for (const OrderOfPool& each : *list) write_order(json, each);
  }
  json.end_array();
  json.member("ordersLeftOff", left_off);
}

}  // namespace tidemark::console

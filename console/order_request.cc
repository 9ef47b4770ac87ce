#include "console/order_request.h"

#include <algorithm>
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

// Reads members; the first wrong one is kept.
class Members {
 public:
  explicit Members(const Json& body) : body_(body) {}

  bool has(std::string_view name) const { return body_.member(name) != nullptr; }

  std::string text(std::string_view name) {
    const Json* found = body_.member(name);
    if (found == nullptr) return {};
    if (!found->is_string()) wrong(name, "expected text");
    return found->is_string() ? found->as_string() : std::string();
  }
  bool flag(std::string_view name) {
    const Json* found = body_.member(name);
    if (found == nullptr) return false;
    if (!found->is_bool()) wrong(name, "expected true or false");
    return found->is_bool() && found->as_bool();
  }
  std::optional<std::int64_t> number(std::string_view name, std::int64_t min, std::int64_t max) {
    const Json* found = body_.member(name);
    if (found == nullptr) return std::nullopt;
    const auto value = found->get_int();
    if (!value || *value < min || *value > max) wrong(name, cat("expected a number from ", min, " to ", max));
    return value;
  }
  std::optional<base::Duration> seconds(std::string_view name, base::Duration min, base::Duration max) {
    const auto count = [](base::Duration time) {
      return std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(time).count()};
    };
    const auto value = number(name, count(min), count(max));
    if (!value || wrong_) return std::nullopt;
    return base::Duration(std::chrono::seconds(*value));
  }
  std::vector<std::string> texts(std::string_view name) {
    std::vector<std::string> out;
    const Json* found = body_.member(name);
    if (found == nullptr) return out;
    const bool good = found->is_array() && std::ranges::all_of(found->as_array(), &Json::is_string);
    if (!good) {
      wrong(name, "expected a list of texts");
      return out;
    }
    for (const Json& each : found->as_array()) out.push_back(each.as_string());
    return out;
  }

  void wrong(std::string_view field, std::string detail) {
    if (!wrong_) wrong_ = WrongOrder{std::string(field), std::move(detail)};
  }
  const std::optional<WrongOrder>& first_wrong() const { return wrong_; }

 private:
  const Json& body_;
  std::optional<WrongOrder> wrong_;
};

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
  command.why = members.text("reason");
  if (base::trim(command.why).empty() && !members.flag("dryRun"))
    members.wrong("reason", "a reason is required; it is shown with the order");
  if (command.why.size() > policy::state::kWhyBytesMax) {
    members.wrong("reason", cat("at most ", policy::state::kWhyBytesMax, " bytes"));
  }
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

std::expected<OrderRequest, WrongOrder> parse_order(std::string_view body) {
  const auto json = Json::parse(body);
  if (!json) return std::unexpected(WrongOrder{"", cat("the body is not JSON: ", json.error().message)});
  if (!json->is_object()) return std::unexpected(WrongOrder{"", "the body is not a JSON object"});
  for (const auto& [name, value] : json->as_object()) {
    if (std::ranges::find(kMembers, name) == kMembers.end()) {
      const auto meant = base::nearest(name, kMembers);
      return std::unexpected(WrongOrder{
          name, cat("there is no field ", in_quotes(name), meant ? cat("; did you mean ", *meant, "?") : "")});
    }
  }
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

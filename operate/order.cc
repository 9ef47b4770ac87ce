#include "operate/order.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "manager/state/desired_store.h"
#include "manager/state/mark_write.h"
#include "manager/state/oversold_taint.h"
#include "model/generation.h"
#include "model/names.h"
#include "model/reason.h"
#include "operate/pools.h"

namespace tidemark::operate {
namespace {

using policy::state::CommandEffect;
using policy::state::NodeMarks;

constexpr int kStoreTriesMax = 10;
constexpr int kRefusalsMax = 20;  // of one node that others write at the same time
constexpr base::Duration kRetryFirst = std::chrono::milliseconds(100);
constexpr base::Duration kRetryMax = std::chrono::seconds(5);

// What is written onto each node.
struct Order {
  OrderScope scope = OrderScope::kCluster;
  std::string pool;
  policy::state::StateCommand command;
  policy::state::StateMark mark;                             // of the pool or the cluster
  const policy::waterline::TidemarkConfig* pools = nullptr;  // of kPool; outlives it
};

kube::NodeFields node_fields() {
  kube::NodeFields fields;
  fields.meta = manager::mark_fields();
  fields.info = false;
  return fields;
}

struct Before {
  policy::state::DesiredStates desired;
  std::string revision;  // of the ConfigMap; "" where there is none
  std::string note;      // what a reader should know; "" where the text was good
};

// What nodes carry of orders for the cluster and for pools.
struct Recovered {
  policy::state::DesiredStates desired;
  std::string incomplete;  // why not all nodes were read; "" where they were
};
net::Task<Recovered> recovered(kube::Client& client, const OrderOptions& options) {
  Recovered out;
  policy::state::DesiredStates& desired = out.desired;
  kube::Interner interner;
  auto listed = co_await client.list(
      kube::kNodes, {},
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto node, kube::decode_node(item, node_fields(), interner));
          policy::state::recover(desired, manager::read_marks(manager::mark_of(node)).marks);
          return {};
        }));
        return {};
      },
      [&] { desired = {}; }, options.limit * 4);
  if (!listed) out.incomplete = std::move(listed).error().within("reading what nodes carry of it").message;
  const auto as_ordered = [&desired](policy::state::StateMark& mark) {
    desired.generation = std::max(desired.generation, mark.generation);
    for (auto& order : mark.orders) order.drained = false;  // a node's own
  };
  if (desired.cluster) as_ordered(*desired.cluster);
  for (auto& pool : desired.pools) as_ordered(pool.mark);
  co_return out;
}

// What was ordered for the cluster and its pools. Where its text is gone or cannot be read, what nodes carry of it: an
// order written over nothing would drop the others, for all nodes that join later.
net::Task<Result<Before>> read_before(kube::Client& client, const OrderOptions& options) {
  TM_CO_TRY(const auto stored, co_await manager::read_desired(client, options.config_namespace, options.limit));
  Before before;
  before.revision = stored.revision;
  std::string problem;
  if (stored.text) {
    auto read = policy::state::parse_desired(*stored.text);
    if (read) {
      before.desired = std::move(*read);
      co_return before;
    }
    if (read.error().kind == ErrorKind::kUnsupported) {
      co_return std::unexpected(std::move(read).error().within("what was ordered for the cluster"));
    }
    problem = read.error().message;
  }
  auto carried = co_await recovered(client, options);
  // To switch the cluster off is too urgent to wait for what may be there of other orders.
  const bool urgent = options.scope == OrderScope::kCluster && options.command.wish == policy::state::Wish::kOff;
  if (!carried.incomplete.empty() && !urgent) {
    co_return fail(
        ErrorKind::kUnavailable,
        "ConfigMap tidemark-state is missing or unreadable, and so are some node marks: ", carried.incomplete);
  }
  before.desired = std::move(carried.desired);
  const bool found = before.desired != policy::state::DesiredStates();
  if (stored.text) {
    before.note = base::cat("ConfigMap tidemark-state was unreadable (", problem, "); ",
                            found ? "orders recovered from the node marks" : "it was replaced");
  } else if (found) {
    before.note = "ConfigMap tidemark-state was missing; orders recovered from the node marks";
  }
  if (!carried.incomplete.empty()) {
    before.note +=
        base::cat(before.note.empty() ? "" : "; ", "earlier orders for pools may be lost: ", carried.incomplete);
  }
  co_return before;
}

struct Stored {
  policy::state::StateMark mark;
  bool written = false;
  bool already = false;
  std::vector<std::string> notes;
};

// The order for the pool or the cluster, kept for nodes that join later.
net::Task<Result<Stored>> store(net::EventLoop& loop, kube::Client& client, const OrderOptions& options) {
  Stored out;
  for (int attempt = 0; attempt < kStoreTriesMax; ++attempt) {
    TM_CO_TRY(const auto before, co_await read_before(client, options));
    out.notes.clear();
    if (!before.note.empty()) out.notes.push_back(before.note);
    const base::WallTime now = loop.clock().wall();
    TM_CO_TRY(auto commanded, policy::state::command_desired(before.desired, options.pool, options.command, now));
    out.mark = std::move(commanded.mark);
    switch (commanded.effect) {
      case CommandEffect::kAlready:
        out.already = true;
        co_return out;
      case CommandEffect::kNotOff:
        co_return fail(ErrorKind::kInvalid, "that part is not off",
                       options.pool.empty() ? " for the cluster" : " for the pool", ": nothing to switch on");
      case CommandEffect::kNoSuchPart:
        co_return fail(ErrorKind::kInvalid,
                       "everything is off; a class alone cannot be switched on. Switch a side on, or all of it");
      case CommandEffect::kSuperseded:
      case CommandEffect::kSet:
        break;
    }
    if (options.dry_run) co_return out;
    auto written = co_await manager::write_desired(client, options.config_namespace, before.revision,
                                                   policy::state::format_desired(commanded.desired), options.limit);
    if (written) {
      out.written = true;
      co_return out;
    }
    const auto kind = written.error().kind;
    if (kind != ErrorKind::kConflict && kind != ErrorKind::kAlreadyExists) {
      co_return std::unexpected(std::move(written).error().within("storing the order"));
    }
  }
  co_return fail(ErrorKind::kConflict, "the orders of the cluster changed ", kStoreTriesMax,
                 " times while this order was stored; nothing was done");
}

// What was asked for, before it is known which mark says so.
Order unmarked(const OrderOptions& options) {
  Order order;
  order.scope = options.scope;
  order.pool = options.pool;
  order.command = options.command;
  if (options.scope == OrderScope::kPool) {
    TM_CHECK(options.pools, "an order for a pool goes by pools_for_order()");
    order.pools = &*options.pools;
  }
  return order;
}

bool concerns(const Order& order, const kube::Node& node) {
  if (order.scope != OrderScope::kPool) return true;
  if (in_pool(*order.pools, node, order.pool)) return true;
  // A node that left the pool, or whose pool is gone, may still be held by its order; it is let go here.
  if (order.command.wish == policy::state::Wish::kOff) return false;
  const auto marks = manager::read_marks(manager::mark_of(node)).marks;
  return marks.pool && marks.pool->pool == order.pool;
}

// Nodes as they come in, written by as many tasks as may be under way at once.
class Writing {
 public:
  struct Written {
    std::vector<OrderedNode> nodes;
    std::string incomplete;
  };

  Writing(net::EventLoop& loop, kube::Client& client, const OrderOptions& options, Order order,
          std::function<void(const OrderProgress&)> on_progress)
      : loop_(loop),
        client_(client),
        options_(options),
        order_(std::move(order)),
        on_progress_(std::move(on_progress)),
        news_(loop),
        scope_(loop) {
    for (std::int64_t i = 0; i < options_.in_flight; ++i) scope_.spawn(work());
  }

  // What is under way is brought to its end, also where not all nodes could be listed.
  net::Task<Written> run() {
    std::string incomplete;
    if (order_.scope == OrderScope::kNode) {
      for (const auto& name : options_.nodes) take({name, std::nullopt});
    } else if (const auto listed = co_await list(); !listed) {
      incomplete = listed.error().message;
    }
    listed_ = true;
    news_.set();
    while (working_ > 0 || !waiting_.empty()) {
      progress_.clear();
      co_await progress_.wait();
    }
    std::ranges::sort(done_, {}, &OrderedNode::name);
    co_return Written{std::move(done_), std::move(incomplete)};
  }

 private:
  struct Waiting {
    std::string name;
    std::optional<kube::Node> node;  // nullopt: to be read
  };

  void take(Waiting node) {
    if (!seen_.insert(node.name).second) return;
    waiting_.push_back(std::move(node));
    news_.set();
    tell();
  }

  net::Task<Result<void>> list() {
    auto listed = co_await client_.list(
        kube::kNodes, {},
        [this](std::string_view page) -> Result<void> {
          TM_TRY_VOID(kube::decode_list(page, [this](std::string_view item) -> Result<void> {
            TM_TRY(auto node, kube::decode_node(item, node_fields(), interner_));
            if (concerns(order_, node)) take({std::string(node.meta.name), std::move(node)});
            return {};
          }));
          return {};
        },
        [] {}, options_.limit * 4);
    if (!listed) co_return std::unexpected(std::move(listed).error().within("listing nodes"));
    co_return Result<void>();
  }

  net::Task<void> work() {
    while (true) {
      while (waiting_.empty()) {
        if (listed_) co_return;
        news_.clear();
        co_await news_.wait();
      }
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      ++working_;
      OrderedNode outcome = co_await one(std::move(next));
      --working_;
      failed_ += outcome.outcome == OrderOutcome::kFailed ? 1 : 0;
      done_.push_back(std::move(outcome));
      progress_.set();
      tell();
    }
  }

  void tell() {
    if (on_progress_) on_progress_({seen_.size(), done_.size(), failed_});
  }

  // The order applied to what a node carries.
  policy::state::NodeCommanded apply(const NodeMarks& marks, std::int64_t generation, base::WallTime now) const {
    if (order_.scope == OrderScope::kNode) return policy::state::command_node(marks, order_.command, generation, now);
    policy::state::NodeCommanded out{marks, CommandEffect::kSet};
    out.effect = order_.scope == OrderScope::kCluster ? policy::state::carry_cluster(out.marks, order_.mark)
                                                      : policy::state::carry_pool(out.marks, order_.pool, order_.mark);
    return out;
  }

  static OrderOutcome outcome_of(CommandEffect effect) {
    switch (effect) {
      case CommandEffect::kSet:
        return OrderOutcome::kWritten;
      case CommandEffect::kAlready:
        return OrderOutcome::kAlready;
      case CommandEffect::kNotOff:
        return OrderOutcome::kNothing;
      case CommandEffect::kNoSuchPart:
        return OrderOutcome::kRefused;
      case CommandEffect::kSuperseded:
        break;
    }
    return OrderOutcome::kSuperseded;
  }

  net::Task<OrderedNode> one(Waiting waiting) {
    OrderedNode out;
    out.name = waiting.name;
    const base::MonotonicTime deadline = loop_.clock().monotonic() + options_.limit;
    std::optional<std::int64_t> generation;  // drawn once: what is on the node later with a larger one came later
    std::optional<manager::MarkOnNode> exact;
    base::Duration pause = kRetryFirst;
    int refusals = 0;
    while (true) {
      Result<bool> settled = false;
      if (!waiting.node) settled = co_await read(waiting.name, waiting.node, exact);
      if (settled && waiting.node) settled = co_await write(*waiting.node, exact, generation, refusals, out);
      if (settled && *settled) co_return out;
      waiting.node.reset();
      if (settled) continue;  // refused because something changed: look again at once
      if (settled.error().kind == ErrorKind::kNotFound) {
        const bool named = order_.scope == OrderScope::kNode;
        out.outcome = named ? OrderOutcome::kFailed : OrderOutcome::kGone;
        out.problem = named ? "node not found" : "";
        out.problem_kind = ErrorKind::kNotFound;
        co_return out;
      }
      if (!worth_another_try(settled.error()) || loop_.clock().monotonic() + pause >= deadline) {
        out.outcome = OrderOutcome::kFailed;
        out.problem = settled.error().message;
        out.problem_kind = settled.error().kind;
        co_return out;
      }
      co_await loop_.sleep(pause);
      pause = std::min(pause * 2, kRetryMax);
    }
  }

  static bool worth_another_try(const Error& error) {
    switch (error.kind) {
      case ErrorKind::kUnavailable:
      case ErrorKind::kDeadline:
      case ErrorKind::kExhausted:
      case ErrorKind::kInternal:
      case ErrorKind::kConflict:
        return true;
      default:
        return false;
    }
  }

  // Nothing written yet: false, or why it cannot be read.
  net::Task<Result<bool>> read(std::string name, std::optional<kube::Node>& node,
                               std::optional<manager::MarkOnNode>& exact) {
    TM_CO_TRY(const std::string bytes, co_await client_.get(kube::kNodes, "", name, options_.limit));
    TM_CO_TRY(node, kube::decode_node(bytes, node_fields(), interner_));
    TM_CO_TRY(exact, manager::exact_mark(bytes));
    co_return false;
  }

  // True: settled, `out` says how. False: the node has changed since it was read.
  net::Task<Result<bool>> write(const kube::Node& node, const std::optional<manager::MarkOnNode>& exact,
                                std::optional<std::int64_t>& generation, int& refusals, OrderedNode& out) {
    const base::WallTime now = loop_.clock().wall();
    const auto mark = exact ? *exact : manager::mark_of(node);
    const auto reading = manager::read_marks(mark);
    if (!generation) {
      const std::int64_t own = reading.marks.node ? reading.marks.node->generation : 0;
      generation = model::next_generation(std::max(own, reading.marks.generation), now);
    }
    const auto ordered = apply(reading.marks, *generation, now);
    out.outcome = outcome_of(ordered.effect);
    out.state = policy::state::effective(ordered.marks, model::Mode::kEnforce, now);
    const bool off = order_.command.wish == policy::state::Wish::kOff;
    const bool already = ordered.effect == CommandEffect::kAlready;
    // Of an earlier run the mark may be all that came about, and what it took may be back.
    const bool repair = already && (reading.trouble || (off && manager::is_to_stop_selling(node, ordered.marks, now)));
    if (options_.dry_run) co_return true;
    if (ordered.effect != CommandEffect::kSet && !repair) {
      if (off && already) TM_CO_TRY_VOID(co_await take_taint_off(node, out.state));
      co_return true;
    }
    auto body = manager::mark_write(mark, ordered.marks, now, off ? &node : nullptr).body;
    kube::WriteOptions options;
    options.subresource = "status";
    options.note = {model::reason_id(model::Reason::kWriteAsked), manager::mark_json(mark)};
    options.answer_is_read = false;
    auto patched = co_await client_.patch(kube::kNodes, node.meta.name.view(), kube::PatchType::kJson, std::move(body),
                                          options, options_.limit);
    if (patched) {
      if (off) TM_CO_TRY_VOID(co_await take_taint_off(node, out.state));
      co_return true;
    }
    // 422: a test of the patch failed, because the mark or the numbers changed since they were read.
    if (patched.error().kind == ErrorKind::kInvalid && ++refusals <= kRefusalsMax) co_return false;
    co_return std::unexpected(std::move(patched).error());
  }

  // The taint of a node that was oversold stands beside its status, and a manager that takes it off may not be there.
  net::Task<Result<void>> take_taint_off(const kube::Node& node, policy::state::EffectiveState state) {
    if (!manager::has_oversold_taint(node) || state.strictest() < model::NodeState::kDraining) co_return Result<void>();
    for (int again = 0; again < kRefusalsMax; ++again) {
      TM_CO_TRY(const std::string bytes, co_await client_.get(kube::kNodes, "", node.meta.name.view(), options_.limit));
      TM_CO_TRY(auto patch, manager::taint_patch(bytes, false));
      if (!patch) co_return Result<void>();
      kube::WriteOptions options;
      options.note.reason = model::reason_id(model::Reason::kWriteAsked);
      auto patched = co_await client_.patch(kube::kNodes, node.meta.name.view(), kube::PatchType::kMerge,
                                            *std::move(patch), options, options_.limit);
      if (patched) co_return Result<void>();
      if (patched.error().kind != ErrorKind::kConflict) co_return std::unexpected(std::move(patched).error());
    }
    co_return fail(ErrorKind::kConflict, "node ", node.meta.name.view(), " changed each time its taint was taken off");
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  const OrderOptions& options_;
  Order order_;
  std::function<void(const OrderProgress&)> on_progress_;
  kube::Interner interner_;
  std::unordered_set<std::string> seen_;
  std::deque<Waiting> waiting_;
  std::vector<OrderedNode> done_;
  std::size_t failed_ = 0;
  std::size_t working_ = 0;
  bool listed_ = false;
  net::Event news_;
  net::Event progress_{loop_};
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace

std::string_view to_string(OrderOutcome outcome) {
  constexpr std::array<std::string_view, 7> kWords{"written", "already", "superseded", "nothing",
                                                   "refused", "gone",    "failed"};
  return kWords.at(static_cast<std::size_t>(outcome));
}

bool OrderReport::failed() const {
  return !incomplete.empty() || std::ranges::any_of(nodes, [](const OrderedNode& node) {
    return node.outcome == OrderOutcome::kFailed || node.outcome == OrderOutcome::kRefused ||
           node.outcome == OrderOutcome::kSuperseded;
  });
}

// A pool that is gone from all settings can still be let go.
net::Task<Result<PoolsForOrder>> pools_for_order(kube::Client& client, const OrderOptions& options) {
  auto live = co_await read_pools(client, options.config_namespace, options.zones, options.limit);
  if (!live && live.error().kind != ErrorKind::kInvalid) co_return std::unexpected(std::move(live).error());
  auto exists = live ? pool_exists(*live, options.pool) : std::unexpected(live.error());
  if (exists) co_return PoolsForOrder{std::move(*live), ""};
  auto in_force = co_await pools_in_force(client, options.config_namespace, options.zones, options.pool, options.limit);
  if (in_force) {
    const std::string why =
        live ? base::cat(model::kTidemarkConfigName, " has no pool ", base::in_quotes(options.pool), " any more")
             : live.error().message;
    co_return PoolsForOrder{std::move(in_force->config),
                            base::cat(why, "; its nodes are those of revision ", in_force->revision,
                                      " of the settings, which is in force")};
  }
  if (!live) {
    co_return fail(ErrorKind::kInvalid, live.error().message, "; and no revision in force has a pool ",
                   base::in_quotes(options.pool), ", as far as can be read: name the nodes instead");
  }
  if (options.command.wish != policy::state::Wish::kOff) {
    const auto before = co_await read_before(client, options);
    if (before && before->desired.pool(options.pool) != nullptr) co_return PoolsForOrder{std::move(*live), ""};
  }
  co_return std::unexpected(std::move(exists).error());
}

net::Task<Result<std::size_t>> count_nodes(kube::Client& client, const OrderOptions& options) {
  if (options.scope == OrderScope::kNode) co_return options.nodes.size();
  const Order order = unmarked(options);
  std::size_t count = 0;
  kube::Interner interner;
  auto listed = co_await client.list(
      kube::kNodes, {},
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto node, kube::decode_node(item, node_fields(), interner));
          count += concerns(order, node) ? 1 : 0;
          return {};
        }));
        return {};
      },
      [&] { count = 0; }, options.limit * 4);
  if (!listed) co_return std::unexpected(std::move(listed).error().within("counting nodes"));
  co_return count;
}

net::Task<Result<OrderReport>> give_order(net::EventLoop& loop, kube::Client& client, OrderOptions options,
                                          std::function<void(const OrderProgress&)> on_progress) {
  OrderReport report;
  report.dry_run = options.dry_run;
  if (options.command.lasts) report.until = loop.clock().wall() + *options.command.lasts;
  Order order = unmarked(options);
  if (options.scope != OrderScope::kNode) {
    TM_CO_TRY(auto stored, co_await store(loop, client, options));
    order.mark = std::move(stored.mark);
    report.stored = stored.written;
    report.was_stored = stored.already;
    report.notes = std::move(stored.notes);
  }
  Writing writing(loop, client, options, std::move(order), std::move(on_progress));
  auto written = co_await writing.run();
  const bool nothing = written.nodes.empty() && !report.stored && !report.was_stored;
  if (nothing && !written.incomplete.empty()) co_return fail(ErrorKind::kUnavailable, written.incomplete);
  if (options.command.wish == policy::state::Wish::kOff && !options.command.only.classes.empty()) {
    report.notes.emplace_back(
        "the manager takes what the class holds out of the offers; when draining is over, the agents and the YARN "
        "operator reclaim it; the webhook rejects new work of the class (an order for one node does not reach it)");
  }
  report.nodes = std::move(written.nodes);
  report.incomplete = std::move(written.incomplete);
  co_return report;
}

}  // namespace tidemark::operate

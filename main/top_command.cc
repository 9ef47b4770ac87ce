#include <signal.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/explain.h"
#include "cli/order_text.h"
#include "cli/top/cluster_screen.h"
#include "cli/top/cluster_values.h"
#include "console/view.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/screen.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "operate/order.h"
#include "operate/order_limits.h"

namespace tidemark::main {
namespace {

// High, because a person waits and an order must not wait for a query budget.
constexpr int kWritesPerSecond = 100'000;
constexpr base::Duration kReadStep = std::chrono::milliseconds(50);

struct TopOptions {
  ClusterOptions cluster;
  console::ViewOptions view;
  base::Duration interval = std::chrono::seconds(2);
  base::Duration limit = std::chrono::seconds(30);
  bool once = false, writes = false, read_only = false, json = false;
};

// One run of the command: the view, and what its screen does.
class Top {
 public:
  Top(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const TopOptions& options, Cluster& cluster,
      std::unique_ptr<kube::Client> writer)
      : loop_(loop),
        options_(options),
        cluster_(cluster),
        writer_(std::move(writer)),
        view_(loop, *cluster.client, log, metrics, base::Random(base::Random::seed_from_system()), options.view),
        wake_(loop),
        scope_(loop) {
    view_.start();
  }

  net::Task<int> once() {
    const base::MonotonicTime began = loop_.clock().monotonic();
    while (!complete() && loop_.clock().monotonic() - began < options_.limit) co_await loop_.sleep(kReadStep);
    // Nodes without the rest are shown, with what is unknown.
    if (!values().read) {
      co_return failed({ErrorKind::kDeadline,
                        base::cat("cannot read the nodes of ", cluster_.source, " within ",
                                  base::format_go_duration(options_.limit)),
                        0, 0});
    }
    const base::WallTime now = loop_.clock().wall();
    if (options_.json)
      co_return print(cli::cluster_json(view_, short_name(cluster_.source), options_.writes, now) + "\n");
    co_return print(base::join(cli::cluster_text(values(), terminal_size().width), "\n") + "\n");
  }

  net::Task<int> screen() {
    ScreenParts parts;
    parts.lines = [this](TerminalSize size) {
      return cli::cluster_screen(values(), state_, size.width, size.height == 0 ? 24 : size.height);
    };
    parts.press = [this](const cli::Key& key) { return press(key); };
    parts.refresh = []() -> net::Task<void> { co_return; };  // watches do it
    co_await show_screen(loop_, wake_, options_.interval, std::move(parts));
    co_return kDone;
  }

 private:
  bool complete() const { return view_.synced() && view_.settled(); }
  cli::ClusterValues values() {
    return cli::cluster_values(view_, short_name(cluster_.source), options_.writes, loop_.clock().wall());
  }

  bool press(const cli::Key& key) {
    cli::TopAction action = cli::press(state_, values(), key);
    if (action.kind == cli::TopAction::Kind::kExplain) {
      state_.message = base::cat("reading the terms of node ", action.target.name);
      scope_.spawn(explain(std::move(action.target.name)));
    } else if (action.kind == cli::TopAction::Kind::kOff && !ordering_) {
      ordering_ = true;
      state_.message = base::cat("ordering off for ", action.target.name);
      scope_.spawn(off(std::move(action)));
    }
    return action.kind != cli::TopAction::Kind::kQuit;
  }

  net::Task<void> explain(std::string node) {
    cli::ExplainOptions question;
    question.node = node;
    question.config_namespace = options_.view.config_namespace;
    question.config_name = options_.view.config_name;
    question.zones = options_.view.zones;
    question.limit = options_.limit;
    const auto text = co_await cli::explain_node(loop_, *cluster_.client, std::move(question));
    show(base::cat("node ", node), text);
  }

  net::Task<void> off(cli::TopAction action) {
    operate::OrderOptions order;
    order.scope = action.target.scope;
    if (order.scope == operate::OrderScope::kPool) order.pool = action.target.name;
    if (order.scope == operate::OrderScope::kNode) order.nodes = {action.target.name};
    order.command.wish = policy::state::Wish::kOff;
    order.command.by = person_name();
    order.command.why = action.reason;
    order.command.drain = operate::kDrainDefault;
    order.config_namespace = options_.view.config_namespace;
    order.zones = options_.view.zones;
    order.limit = options_.limit;
    const auto text = co_await give(std::move(order));
    ordering_ = false;
    show(base::cat("off ", action.target.name), text);
  }

  net::Task<Result<std::string>> give(operate::OrderOptions order) {
    std::string note;
    if (order.scope == operate::OrderScope::kPool) {
      TM_CO_TRY(auto pools, co_await operate::pools_for_order(*writer_, order));
      order.pools = std::move(pools.config);
      if (!pools.note.empty()) note = base::cat("note: ", pools.note, "\n");
    }
    TM_CO_TRY(const auto report, co_await operate::give_order(loop_, *writer_, order, nullptr));
    co_return cli::render_text(report, order) + note;
  }

  void show(std::string title, const Result<std::string>& text) {
    state_.message.clear();
    if (text) {
      cli::show_text(state_, std::move(title), *text);
    } else {
      state_.message = text.error().message;
    }
    wake_.set();
  }

  net::EventLoop& loop_;
  const TopOptions& options_;
  Cluster& cluster_;
  std::unique_ptr<kube::Client> writer_;  // null: read-only
  console::View view_;
  cli::TopState state_;
  bool ordering_ = false;
  net::Event wake_;
  net::Scope scope_;
};

}  // namespace

int run_top(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark top",
      "Shows the live state of a cluster: nodes, pools, problems, and why a node offers what it offers. ? shows the "
      "keys. It needs no console and no manager. Without a terminal it shows the state once. Exit codes: 0 shown, "
      "1 failed, 2 wrong use.");
  TopOptions options;
  options.view.zones = zones_of_machine();
  AnswerForm form;
  LogOptions log_options;
  log_options.level = base::LogLevel::kError;
  flags.group("Screen");
  flags.duration("interval", options.interval, kScreenIntervalMin, kScreenIntervalMax, "refresh interval");
  flags.boolean("once", options.once, "show the state once and exit");
  flags.boolean("read-only", options.read_only, "order nothing; the default without --write");
  flags.boolean("write", options.writes, "let the screen order off");
  declare_cluster_flags(flags, options.cluster);
  declare_audit_flags(flags, options.cluster.audit);
  declare_settings_flags(flags, options.view.config_namespace, options.view.config_name);
  declare_answer_flags(flags, form, options.limit);
  declare_log_flags(flags, log_options);
  flags.example("tidemark top --write");
  flags.example("tidemark top --once -o json | jq .problems");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  options.json = form.json();
  if (options.writes && options.read_only) return wrong_use("--write and --read-only exclude each other", flags);

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("top");
  net::EventLoop loop(clock);
  int code = kFailed;
  // Before any other thread, so that this thread gets the signals.
  const net::FdWatch signals = loop.watch_signals({SIGINT, SIGTERM}, [&](int signal) {
    code = kEndedBySignal + signal;
    loop.stop();
  });
  kube::ClientConfig reads;
  reads.read_only = true;
  reads.user_agent = "tidemark-top/" TIDEMARK_VERSION;
  auto cluster = connect_cluster(loop, log, base::Random(base::Random::seed_from_system()), options.cluster, reads);
  if (!cluster) return failed(cluster.error());
  AuditOutput audit(loop, log, nullptr, options.cluster.audit);
  std::unique_ptr<kube::Client> writer;
  if (options.writes) {
    kube::ClientConfig writes;
    writes.queries_per_second = kWritesPerSecond;
    writes.burst = kWritesPerSecond;
    writes.user_agent = reads.user_agent;
    audit.listen_to(writes, person_name());
    writer = std::make_unique<kube::Client>(loop, *cluster->transport, cluster->bearer, writes,
                                            base::Random(base::Random::seed_from_system()));
  }
  {
    Top top(loop, log, metrics, options, *cluster, std::move(writer));
    net::Scope scope(loop);
    const auto run_then_stop = [&]() -> net::Task<void> {
      const bool once = options.once || options.json || !has_screen();
      code = co_await (once ? top.once() : top.screen());
      loop.stop();
    };
    scope.spawn(run_then_stop());
    loop.run();
  }
  audit.finish();
  return code;
}

}  // namespace tidemark::main

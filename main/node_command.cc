// `tidemark node join` and `tidemark node leave`.
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/join_text.h"
#include "cli/off_text.h"
#include "cli/order_text.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "operate/join.h"
#include "operate/order_json.h"
#include "operate/order_limits.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kNodeArgumentsMax = 100'000;
// High, because a person waits; --in-flight bounds the writes instead.
constexpr int kNodeQueriesPerSecond = 100'000;
constexpr base::Duration kJoinWaitDefault = std::chrono::minutes(2);
constexpr std::string_view kNodeUsage = "tidemark node [flags] join|leave";

struct NodesAsked {
  Said said;
  std::vector<std::string> nodes;
  std::string selector;
  std::int64_t in_flight = 100;
  base::Duration limit = std::chrono::seconds(30);  // for one answer of the API server
  std::string config_namespace = "koordinator-system";
  bool dry_run = false;
  bool yes = false;
  AnswerForm form;
  ClusterOptions cluster;
  LogOptions log{.level = base::LogLevel::kWarn};
};

void declare_nodes(base::Flags& flags, NodesAsked& asked_for) {
  declare_said_flags(flags, asked_for.said);
  flags.text("selector", asked_for.selector, "label selector of the nodes, in place of names")
      .alias("l")
      .placeholder("SELECTOR");
  flags.boolean("dry-run", asked_for.dry_run, "show the steps, write nothing");
  flags.boolean("yes", asked_for.yes, "do not ask for confirmation");
  declare_answer_flags(flags, asked_for.form, asked_for.limit);
  flags.integer("in-flight", asked_for.in_flight, 1, 1000, "maximum number of concurrent writes");
  declare_namespace_flag(flags, asked_for.config_namespace);
  declare_log_flags(flags, asked_for.log);
  flags.arguments("NODE...", 0, kNodeArgumentsMax);
}

// The error in the flags; "" if they are valid.
std::string wrong_nodes(const NodesAsked& asked_for) {
  if (asked_for.nodes.empty() == asked_for.selector.empty()) return "give either names of nodes or --selector";
  if (!asked_for.yes && !asked_for.dry_run && ::isatty(STDIN_FILENO) != 1) {
    return "without a terminal, this command needs --yes";
  }
  return asked_for.said.wrong();
}

// What one of the two commands needs of the process.
struct NodeRun {
  net::EventLoop& loop;
  kube::Client& client;
  const base::Log& log;
  base::Random& random;
  ProgressLine& progress;
};
using NodeWork = std::function<net::Task<int>(NodeRun run, const NodesAsked& asked_for)>;

// Finds the nodes, and does the work.
int with_nodes(std::string_view command, NodesAsked asked_for, const NodeWork& work) {
  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, asked_for.log, metrics);
  const base::Log log = log_output.named(command);
  net::EventLoop loop(clock);
  kube::ClientConfig config;
  config.queries_per_second = kNodeQueriesPerSecond;
  config.burst = kNodeQueriesPerSecond;
  config.user_agent = "tidemark-order/" TIDEMARK_VERSION;
  AuditOutput audit(loop, log, &metrics, asked_for.cluster.audit);
  audit.listen_to(config, person_name());
  base::Random random(base::Random::seed_from_system());
  auto cluster = connect_cluster(loop, log, random.fork(), asked_for.cluster, config);
  if (!cluster) return failed(cluster.error());
  ProgressLine progress;
  return audit.run([&]() -> net::Task<int> {
    kube::Client& client = *cluster->client;
    if (!asked_for.selector.empty()) {
      auto found = co_await operate::select_nodes(loop, client, asked_for.selector, asked_for.limit);
      if (!found) co_return failed(found.error());
      if (found->empty()) {
        co_return failed({ErrorKind::kNotFound, base::cat("no node has the labels ", asked_for.selector), 0, 0});
      }
      asked_for.nodes = *std::move(found);
    }
    co_return co_await work({loop, client, log, random, progress}, asked_for);
  });
}

bool confirmed(const NodesAsked& asked_for, std::string_view preview, std::string_view verb) {
  if (asked_for.yes) return true;
  const std::size_t nodes = asked_for.nodes.size();
  return asked(base::cat(preview, "Let ", nodes, nodes == 1 ? " node " : " nodes ", verb, "?"));
}

int canceled_for_nodes() {
  return failed({ErrorKind::kDenied, "canceled; nothing was changed", 0, 0});
}

int run_join(const std::vector<std::string>& args) {
  base::Flags flags("tidemark node join",
                    "Lets nodes join co-location: checks them, observes them, puts them into a pool, waits until their "
                    "agents report, and switches them on. Run it again to go on; what is done is skipped.");
  NodesAsked asked_for;
  operate::JoinOptions options;
  options.zones = zones_of_machine();
  options.wait = kJoinWaitDefault;
  declare_cluster_flags(flags, asked_for.cluster);
  declare_audit_flags(flags, asked_for.cluster.audit);
  flags.group("Join");
  flags.text("pool", options.pool, "pool to put the nodes into, by the label tidemark.io/pool; default is their pool")
      .placeholder("NAME");
  flags.boolean("observe-only", options.observe_only, "stop before the nodes sell");
  flags.duration("wait", options.wait, base::Duration(0), operate::kDrainMax,
                 "longest wait for the agents, and then for the manager; 0s does not wait");
  declare_nodes(flags, asked_for);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  asked_for.nodes = parsed.arguments;
  if (const std::string why = wrong_nodes(asked_for); !why.empty()) return wrong_use(why, flags);
  options.by = asked_for.said.by;
  options.why = asked_for.said.reason;
  options.config_namespace = asked_for.config_namespace;
  options.in_flight = asked_for.in_flight;
  options.limit = asked_for.limit;
  return with_nodes("node join", asked_for, [&](NodeRun run, const NodesAsked& found) -> net::Task<int> {
    options.nodes = found.nodes;
    const bool quiet = found.form.json();
    const auto tell = [&](const operate::JoinReport& report) {
      const int printed = print(quiet ? cli::render_json(report).dump_pretty() + "\n" : cli::render_text(report));
      return report.failed() ? kFailed : printed;
    };
    if (found.dry_run || !found.yes) {
      options.dry_run = true;
      const auto would =
          co_await operate::join_nodes(run.loop, run.client, run.log, run.random.fork(), options, nullptr);
      if (!would) co_return failed(would.error());
      if (found.dry_run) co_return tell(*would);
      if (!confirmed(found, cli::render_text(*would), "join")) co_return canceled_for_nodes();
      options.dry_run = false;
    }
    const auto report = co_await operate::join_nodes(run.loop, run.client, run.log, run.random.fork(), options,
                                                     [&](const operate::JoinProgress& seen) {
                                                       if (!quiet) run.progress.show(cli::progress_text(seen));
                                                     });
    run.progress.end();
    if (!report) co_return failed(report.error());
    co_return tell(*report);
  });
}

// The dry run of leaving.
std::string leave_preview(const operate::LeaveReport& report, const operate::OrderOptions& order, bool json) {
  if (!json) return cli::render_text(report.order, order) + cli::preview_text(*report.would);
  Json out = operate::render_json(report.order, order);
  out["evict"] = cli::preview_json(*report.would);
  return out.dump_pretty() + "\n";
}

int run_leave(const std::vector<std::string>& args) {
  base::Flags flags("tidemark node leave",
                    "Lets nodes leave co-location: drains them, evicts the offline work that is left, and shows per "
                    "node that nothing is left. Run it again to go on.");
  NodesAsked asked_for;
  operate::LeaveOptions options;
  options.order.scope = operate::OrderScope::kNode;
  options.order.command.wish = policy::state::Wish::kOff;
  options.order.command.drain = operate::kDrainDefault;
  options.order.zones = zones_of_machine();
  options.limit = operate::kEvictWait;
  declare_cluster_flags(flags, asked_for.cluster);
  declare_audit_flags(flags, asked_for.cluster.audit);
  flags.group("Leave");
  flags.duration("drain", options.order.command.drain, base::Duration(0), operate::kDrainMax,
                 "longest time in which offline work may end by itself; 0s evicts at once");
  flags.duration("grace", options.evict.grace, operate::kGraceMin, operate::kGraceMax,
                 "longest time from the request to the kill of a pod");
  flags.duration("wait", options.limit, base::Duration(0), operate::kDrainMax, "longest wait for the evictions");
  declare_nodes(flags, asked_for);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  asked_for.nodes = parsed.arguments;
  if (const std::string why = wrong_nodes(asked_for); !why.empty()) return wrong_use(why, flags);
  options.order.command.by = asked_for.said.by;
  options.order.command.why = asked_for.said.reason;
  options.order.config_namespace = asked_for.config_namespace;
  options.order.in_flight = asked_for.in_flight;
  options.order.limit = asked_for.limit;
  return with_nodes("node leave", asked_for, [&](NodeRun run, const NodesAsked& found) -> net::Task<int> {
    options.order.nodes = found.nodes;
    const bool quiet = found.form.json();
    if (found.dry_run || !found.yes) {
      options.order.dry_run = true;
      const auto would = co_await operate::leave_nodes(run.loop, run.client, run.log, run.random.fork(), options, {});
      if (!would) co_return failed(would.error());
      if (found.dry_run) {
        const int printed = print(leave_preview(*would, options.order, quiet));
        co_return would->order.failed() ? kFailed : printed;
      }
      if (!confirmed(found, leave_preview(*would, options.order, false), "leave")) co_return canceled_for_nodes();
      options.order.dry_run = false;
    }
    operate::LeaveProgress progress;
    progress.drains = [&](const operate::WaitProgress& seen) {
      if (!quiet) run.progress.show(base::cat("draining ", seen.draining, " of ", seen.nodes));
    };
    progress.evicts = [&](const operate::OffProgress& seen) {
      if (!quiet) run.progress.show(cli::progress_text(seen, run.progress.terminal()));
    };
    const auto report =
        co_await operate::leave_nodes(run.loop, run.client, run.log, run.random.fork(), options, std::move(progress));
    run.progress.end();
    if (!report) co_return failed(report.error());
    std::string text = cli::render_text(report->order, options.order) + cli::proof_text(*report->proof);
    if (quiet) {
      Json out = operate::render_json(report->order, options.order);
      out["evict"] = operate::progress_json(*report->proof);
      text = out.dump_pretty() + "\n";
    }
    const int printed = print(text);
    if (report->order.failed() || printed != kDone) co_return kFailed;
    if (report->proof->finished()) co_return kDone;
    if (!report->proof->problem.empty()) co_return failed({ErrorKind::kUnavailable, report->proof->problem, 0, 0});
    co_return failed({ErrorKind::kDeadline,
                      base::cat("something is left on ", report->proof->nodes - report->proof->done, " of ",
                                report->proof->nodes, " nodes; the reasons are above. Run the command again to go on"),
                      0, 0});
  });
}

}  // namespace

int run_node(const std::vector<std::string>& args) {
  constexpr std::string_view kHelp =
      "\n\nLets nodes join co-location, or leave it.\n\nCommands:\n"
      "  join    check, observe, put into a pool, wait for the agent, switch on\n"
      "  leave   drain, evict what is left, show that nothing is left\n"
      "\nFor the flags of a command, run: tidemark node COMMAND --help. Exit codes: 0 done, 1 failed, 2 wrong use.\n";
  const auto wrong_command = [](std::string_view why) {
    return wrong_use(base::cat("tidemark: ", why, "\nusage: ", kNodeUsage, "\n"));
  };
  if (args.empty()) return wrong_command("command is missing; expected join or leave");
  if (args[0] == "--help" || args[0] == "-h") return print(base::cat("Usage: ", kNodeUsage, kHelp));
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "join") return run_join(rest);
  if (args[0] == "leave") return run_leave(rest);
  return wrong_command(base::cat("expected join or leave, found ", base::in_quotes(args[0])));
}

}  // namespace tidemark::main

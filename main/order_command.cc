#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/machine_places.h"
#include "base/text.h"
#include "cli/local_order.h"
#include "cli/off_text.h"
#include "cli/order_text.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "operate/classes.h"
#include "operate/evict.h"
#include "operate/off_progress.h"
#include "operate/order.h"
#include "operate/order_json.h"
#include "operate/order_limits.h"
#include "operate/order_wait.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kNodesNamedMax = 100'000;
// High, because a person waits and an order must not wait for a query budget; --in-flight bounds the writes instead.
constexpr int kQueriesPerSecond = 100'000;

struct Words {
  std::string_view program;
  std::string_view summary;
};
Words words_of(policy::state::Wish wish) {
  switch (wish) {
    case policy::state::Wish::kOn:
      return {"tidemark on", "Starts selling again: offline work may run on the nodes."};
    case policy::state::Wish::kObserve:
      return {"tidemark observe",
              "Computes and shows decisions for nodes, but writes nothing: their offers stay unchanged."};
    case policy::state::Wish::kOff:
      break;
  }
  return {"tidemark off", "Stops selling on nodes; with --evict, also evicts offline work."};
}

// Command line arguments that are not part of OrderOptions.
struct Asked {
  Said said;
  bool local = false;
  agent::MachinePlaces places;
  bool now = false;
  base::Duration drain = operate::kDrainDefault;
  base::Duration lasts{0};
  std::vector<std::string> only;
  bool yes = false;
  base::Duration wait{0};
  bool evict = false;
  operate::EvictOptions evict_options;
  std::string budget;
  AnswerForm form;
};

void declare(base::Flags& flags, policy::state::Wish wish, Asked& asked_for, operate::OrderOptions& options) {
  declare_said_flags(flags, asked_for.said);
  if (wish == policy::state::Wish::kOff) {
    flags.boolean("now", asked_for.now, "set state off without a drain; running pods continue, nothing new is sold");
    flags.duration("drain", asked_for.drain, base::Duration(0), operate::kDrainMax,
                   "longest time in state draining; a node without offline work is off sooner");
    flags.boolean("evict", asked_for.evict,
                  "also evict offline pods and YARN containers, wait, and show per node that nothing is left");
    flags.duration("grace", asked_for.evict_options.grace, operate::kGraceMin, operate::kGraceMax,
                   "with --evict: longest time from the request to the kill of a pod");
    flags
        .text("budget", asked_for.budget,
              "with --evict: limit of pod evictions, e.g. 60/min; default none. YARN containers all end after --grace")
        .placeholder("N/min");
    flags.boolean("at-once", asked_for.evict_options.at_once,
                  "with --evict: delete pods, also against their PodDisruptionBudgets");
    flags.boolean(
        "nothing-in-force", options.nothing_in_force,
        "for uninstalling agents: wait until no agent limits through kernel files, i.e. until the offline pods have "
        "ended; orders nothing if none does. Needs --wait");
  }
  if (wish != policy::state::Wish::kObserve) {
    flags.list("only", asked_for.only, "limit the order to k8s, yarn or class=NAME");
  }
  flags.duration("for", asked_for.lasts, base::Duration(0), operate::kLastsMax,
                 "duration, by this machine's clock; then the previous order applies again. 0 is permanent");
  if (wish != policy::state::Wish::kObserve) {
    flags.boolean("local", asked_for.local,
                  "only this machine, at once, without API server and manager; restores the original values if no "
                  "agent runs. Needs root. Outranks the cluster until `tidemark on --local`");
  }
  flags.boolean("dry-run", options.dry_run, "show the change, write nothing");
  flags.boolean("yes", asked_for.yes, "do not ask for confirmation");
  flags.duration("wait", asked_for.wait, base::Duration(0), operate::kDrainMax,
                 "longest wait until all nodes have the new state; 0s does not wait");
  declare_answer_flags(flags, asked_for.form, options.limit);
  flags.integer("in-flight", options.in_flight, 1, 1000, "maximum number of concurrent writes");
  declare_namespace_flag(flags, options.config_namespace);
  if (wish != policy::state::Wish::kObserve) {
    flags.group("Machine");
    agent::declare_machine_flags(flags, asked_for.places);
  }
}

// The error in the arguments; "" if they are valid.
std::string read_scope(const std::vector<std::string>& arguments, operate::OrderOptions& options) {
  const std::string& kind = arguments[0];
  if (kind == "node") {
    options.scope = operate::OrderScope::kNode;
    options.nodes.assign(arguments.begin() + 1, arguments.end());
    return options.nodes.empty() ? "node name is missing" : "";
  }
  if (kind == "pool") {
    options.scope = operate::OrderScope::kPool;
    if (arguments.size() != 2) return arguments.size() < 2 ? "pool name is missing" : "expected one pool";
    options.pool = arguments[1];
    return "";
  }
  if (kind == "cluster") return arguments.size() == 1 ? "" : "cluster takes no name";
  return base::cat("expected node, pool or cluster, found ", base::in_quotes(kind));
}

std::string read_command(const Asked& asked_for, policy::state::Wish wish, policy::state::StateCommand& command) {
  if (auto wrong = asked_for.said.wrong(); !wrong.empty()) return wrong;
  auto parts = policy::state::parse_parts(asked_for.only);
  if (!parts) return base::cat("--only ", parts.error().message);
  command.wish = wish;
  command.only = std::move(*parts);
  command.by = asked_for.said.by;
  command.why = asked_for.said.reason;
  command.drain = asked_for.now || asked_for.evict ? base::Duration(0) : asked_for.drain;
  command.evict = asked_for.evict;
  command.grace = asked_for.evict_options.grace;
  if (asked_for.lasts > base::Duration(0)) command.lasts = asked_for.lasts;
  return "";
}

std::string question(policy::state::Wish wish, const operate::OrderOptions& options, std::size_t nodes) {
  const bool evict = options.command.evict;
  const std::string place =
      options.scope == operate::OrderScope::kPool ? base::cat("pool ", options.pool) : std::string("whole cluster");
  return base::cat("Order `", to_string(wish), "`", evict ? " and evict all offline work" : "", " for the ", place,
                   ", ", nodes, nodes == 1 ? " node now" : " nodes now", " and all nodes that join later?");
}

std::string progress_text(policy::state::Wish wish, const operate::WaitProgress& seen) {
  const std::string done = base::cat("  ", to_string(wish), " ", seen.reached);
  if (wish != policy::state::Wish::kOff) return base::cat("marked ", seen.nodes, "  pending ", seen.unheard, done);
  return base::cat("marked ", seen.nodes, "  draining ", seen.draining, "  still offering ", seen.offering,
                   "  agents pending ", seen.limiting,
                   seen.silent == 0 ? "" : base::cat(" (", seen.silent, " nodes silent)"),
                   seen.other_words == 0 ? "" : base::cat(" (", seen.other_words, " of another version)"),
                   "  kernel files in force ", seen.in_force, done);
}

// Lists the nodes that do not answer.
std::string unanswered_text(const operate::WaitReport& waited) {
  std::string out;
  if (!waited.silent.empty()) {
    out += base::cat(". The kubelet is also silent on ", first_names(waited.silent));
  }
  if (!waited.other_words.empty()) {
    out += base::cat(". Agents of another version, with an unknown answer: ", first_names(waited.other_words));
  }
  return out;
}

// A note about nodes where no agent confirms the order.
std::string without_agent_text(const operate::WaitReport& waited) {
  if (waited.without_agent.empty()) return "";
  return base::cat("note: on ", waited.without_agent.size(), waited.without_agent.size() == 1 ? " node" : " nodes",
                   " no Tidemark agent ever reported: nothing is offered there, but no agent confirms that running "
                   "offline work is limited: ",
                   first_names(waited.without_agent), "\n");
}

int finish_wait(const operate::WaitReport& waited, base::Duration limit) {
  if (waited.reached) return kDone;
  if (!waited.listed) {
    return failed({ErrorKind::kDeadline,
                   base::cat("the progress is unknown: cannot list the nodes within ", base::format_go_duration(limit)),
                   0, 0});
  }
  if (waited.not_reached.empty()) {
    return failed(
        {ErrorKind::kUnavailable,
         base::cat("done on the ", waited.last.reached, " marked nodes only; repeat the order for the other nodes",
                   waited.not_marked.empty() ? "" : ": ", first_names(waited.not_marked)),
         0, 0});
  }
  if (waited.last.unheard == waited.not_reached.size()) {
    return failed({ErrorKind::kDeadline,
                   base::cat("stored, but not confirmed after ", base::format_go_duration(limit),
                             "; check that a manager runs and leads. Nodes without its report: ",
                             first_names(waited.not_reached)),
                   0, 0});
  }
  if (waited.last.in_force == waited.not_reached.size()) {
    return failed(
        {ErrorKind::kDeadline,
         base::cat("not done after ", base::format_go_duration(limit), ": off, but kernel files are still in force on ",
                   first_names(waited.in_force), ". Delete the offline pods that still run there, and try again"),
         0, 0});
  }
  return failed(
      {ErrorKind::kDeadline,
       base::cat("not done after ", base::format_go_duration(limit), ": ", waited.last.draining, " nodes drain, ",
                 waited.last.offering, " still offer resources (check that a manager runs), ", waited.last.limiting,
                 " lack the agent's confirmation (`tidemark off --local` there works without agent), ",
                 waited.last.in_force, " have kernel files in force: ", first_names(waited.not_reached),
                 unanswered_text(waited)),
       0, 0});
}

// The error for flags that exclude each other; "" without such a pair. --now outranks a drain time from the environment
// or a file, which is only a default of this machine.
std::string wrong_together(const Asked& asked_for, const base::Flags::Parsed& parsed) {
  const bool drain_said = std::ranges::any_of(
      parsed.settings, [](const auto& setting) { return setting.name == "drain" && setting.from == "--drain"; });
  return asked_for.now && drain_said ? "--now and --drain exclude each other" : "";
}

// "60/min"; false: something else.
bool read_budget(const std::string& text, std::int64_t& per_minute) {
  constexpr std::string_view kUnit = "/min";
  if (text.empty()) return true;
  const auto number =
      text.ends_with(kUnit) ? base::parse_int(text.substr(0, text.size() - kUnit.size())) : std::nullopt;
  if (!number || *number < 1 || *number > operate::kPerMinuteMax) return false;
  per_minute = *number;
  return true;
}

// The error in --nothing-in-force; "" if it is valid.
std::string wrong_wait(const Asked& asked_for, const operate::OrderOptions& options) {
  if (!options.nothing_in_force) return "";
  if (options.scope != operate::OrderScope::kCluster) return "--nothing-in-force is only for the whole cluster";
  if (!options.command.only.all()) return "--nothing-in-force covers all offline work; it goes without --only";
  return asked_for.wait > base::Duration(0) ? "" : "--nothing-in-force needs --wait";
}

// The error in the flags of --evict; "" if they are valid.
std::string wrong_eviction(Asked& asked_for, const operate::OrderOptions& options, const base::Flags::Parsed& parsed) {
  const auto said = [&](std::string_view name) {
    return std::ranges::any_of(parsed.settings,
                               [&](const auto& setting) { return setting.from == base::cat("--", name); });
  };
  if (!asked_for.evict) {
    for (const std::string_view name : {"grace", "budget", "at-once"}) {
      if (said(name)) return base::cat("--", name, " goes only with --evict");
    }
    return "";
  }
  if (!options.command.only.all()) return "--evict covers all offline work; it goes without --only";
  if (options.nothing_in_force) return "--evict waits for the kernel files itself; it goes without --nothing-in-force";
  if (!asked_for.budget.empty() && asked_for.evict_options.at_once) return "--budget and --at-once exclude each other";
  if (asked_for.wait == base::Duration(0)) {
    asked_for.wait = operate::default_wait(asked_for.evict_options);
  }
  return "";
}

// The error in the arguments of --local; "" if they are valid.
std::string wrong_locally(const policy::state::StateCommand& command, const std::vector<std::string>& arguments) {
  if (!arguments.empty())
    return base::cat("--local is only for this machine; it goes without ", base::in_quotes(arguments[0]));
  if (!command.only.all()) return "--local covers all offline work of this machine; it goes without --only";
  if (command.lasts) return "--local lasts until `tidemark on --local`; it goes without --for";
  return "";
}

int run_local(const Asked& asked_for, const policy::state::StateCommand& command, bool dry_run) {
  cli::LocalOrder order;
  order.off = command.wish == policy::state::Wish::kOff;
  order.by = command.by;
  order.why = command.why;
  order.dry_run = dry_run;
  if (asked_for.wait > base::Duration(0)) order.wait = asked_for.wait;
  order.places = asked_for.places;
  const auto tell = [&](const cli::LocalReport& report, bool all_well) {
    const std::string text =
        asked_for.form.json() ? cli::render_json(report, order).dump_pretty() + "\n" : cli::render_text(report, order);
    const int printed = print(text);
    return all_well ? printed : kFailed;
  };
  if (dry_run) {
    const cli::LocalReport would = cli::local_dry_run(order);
    return tell(would, would.troubles.empty());
  }
  raise_descriptor_limit();  // each cgroup that an agent wrote to stays open
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  int code = kFailed;
  net::Scope scope(loop);
  const auto give_then_stop = [&]() -> net::Task<void> {
    const cli::LocalReport report = co_await cli::give_local_order(loop, order);
    code = tell(report, !report.failed());
    loop.stop();
  };
  scope.spawn(give_then_stop());
  loop.run();
  return code;
}

int run_order(policy::state::Wish wish, const std::vector<std::string>& args) {
  base::Flags flags(words_of(wish).program, words_of(wish).summary);
  ClusterOptions cluster_options;
  operate::OrderOptions options;
  options.zones = zones_of_machine();
  Asked asked_for;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  declare(flags, wish, asked_for, options);
  declare_log_flags(flags, log_options);
  flags.arguments("node NAME... | pool NAME | cluster", 0, kNodesNamedMax);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (auto wrong = wrong_together(asked_for, parsed); !wrong.empty()) return wrong_use(wrong, flags);
  if (!read_budget(asked_for.budget, asked_for.evict_options.per_minute)) {
    return wrong_use(base::cat("--budget: expected a limit such as 60/min, found ", base::in_quotes(asked_for.budget)),
                     flags);
  }
  if (asked_for.local) {
    if (auto wrong = read_command(asked_for, wish, options.command); !wrong.empty()) return wrong_use(wrong, flags);
    if (auto wrong = wrong_locally(options.command, parsed.arguments); !wrong.empty()) return wrong_use(wrong, flags);
    return run_local(asked_for, options.command, options.dry_run);
  }
  if (parsed.arguments.empty())
    return wrong_use("target is missing; expected node NAME..., pool NAME or cluster", flags);
  if (auto wrong = read_scope(parsed.arguments, options); !wrong.empty()) return wrong_use(wrong, flags);
  if (auto wrong = read_command(asked_for, wish, options.command); !wrong.empty()) return wrong_use(wrong, flags);
  if (auto wrong = wrong_wait(asked_for, options); !wrong.empty()) return wrong_use(wrong, flags);
  if (auto wrong = wrong_eviction(asked_for, options, parsed); !wrong.empty()) return wrong_use(wrong, flags);
  const bool ask = options.scope != operate::OrderScope::kNode && !asked_for.yes && !options.dry_run;
  if (ask && ::isatty(STDIN_FILENO) != 1) {
    return wrong_use("without a terminal, an order for a pool or the whole cluster needs --yes", flags);
  }

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named(to_string(wish));
  net::EventLoop loop(clock);
  kube::ClientConfig client_config;
  client_config.queries_per_second = kQueriesPerSecond;
  client_config.burst = kQueriesPerSecond;
  client_config.user_agent = "tidemark-order/" TIDEMARK_VERSION;
  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  audit.listen_to(client_config, person_name());
  base::Random random(base::Random::seed_from_system());
  auto cluster = connect_cluster(loop, log, random.fork(), cluster_options, client_config);
  if (!cluster) return failed(cluster.error());

  ProgressLine progress;
  const bool quiet = asked_for.form.json();
  return audit.run([&]() -> net::Task<int> {
    kube::Client& client = *cluster->client;
    const auto classes = co_await operate::check_classes(loop, client, options);
    if (!classes && classes.error().kind == ErrorKind::kNotFound) {
      co_return wrong_use(base::cat("--only: ", classes.error().message), flags);
    }
    if (!classes) co_return failed(classes.error());
    if (options.nothing_in_force) {
      const auto nodes = co_await operate::nodes_in_force(client, options.limit);
      if (!nodes) co_return failed(nodes.error());
      // On such a node the order would also limit the offline work of Koordinator's agent, through more kernel files.
      if (!nodes->nodes.empty() && !nodes->beside_peer.empty()) {
        co_return failed({ErrorKind::kInvalid,
                          base::cat("kernel files are in force on ", first_names(nodes->nodes),
                                    ", and Koordinator's agent runs on ", first_names(nodes->beside_peer),
                                    ", where `off` would also limit offline work. Nothing was ordered; `tidemark "
                                    "observe cluster` restores all values"),
                          0, 0});
      }
      if (nodes->nodes.empty()) {
        co_return print(quiet ? "{\"reached\": true}\n" : "no agent has a kernel file in force; nothing was ordered\n");
      }
    }
    if (options.scope == operate::OrderScope::kPool) {
      auto pools = co_await operate::pools_for_order(client, options);
      if (!pools) co_return failed(pools.error());
      if (!pools->note.empty()) log.warn(pools->note);
      options.pools = std::move(pools->config);
    }
    if (ask) {
      auto count = co_await operate::count_nodes(client, options);
      if (!count) co_return failed(count.error());
      if (!asked(question(wish, options, *count)))
        co_return failed({ErrorKind::kDenied, "canceled; nothing was changed", 0, 0});
    }
    auto report = co_await operate::give_order(loop, client, options, [&](const operate::OrderProgress& seen) {
      constexpr std::size_t kShowEvery = 500;
      if (quiet || (seen.done != seen.nodes && seen.done % kShowEvery != 0)) return;
      if (seen.nodes < kShowEvery) return;
      progress.show(base::cat("marked ", seen.done - seen.failed, " of ", seen.nodes));
    });
    progress.end();
    if (!report) co_return failed(report.error());
    if (!classes->empty()) report->notes.push_back(*classes);
    if (asked_for.evict && options.dry_run) {
      const auto would = co_await operate::preview_eviction(loop, client, *report, options.limit);
      if (!would) co_return failed(would.error());
      std::string text = cli::render_text(*report, options) + cli::preview_text(*would);
      if (quiet) {
        Json out = operate::render_json(*report, options);
        out["evict"] = cli::preview_json(*would);
        text = out.dump_pretty() + "\n";
      }
      const int printed = print(text);
      co_return report->failed() ? kFailed : printed;
    }
    if (asked_for.evict) {
      const base::MonotonicTime began = loop.clock().monotonic();
      const auto evicted = co_await operate::evict_offline(
          loop, client, log, random.fork(), *report, {options, asked_for.evict_options, asked_for.wait},
          [&](const operate::OffProgress& seen) {
            if (!quiet) progress.show(cli::progress_text(seen, progress.terminal()));
          });
      progress.end();
      std::string text;
      if (quiet) {
        Json out = operate::render_json(*report, options);
        out["evict"] = operate::progress_json(evicted);
        text = out.dump_pretty() + "\n";
      } else {
        text = cli::render_text(*report, options) + cli::proof_text(evicted);
      }
      const int printed = print(text);
      if (report->failed() || printed != kDone) co_return kFailed;
      if (evicted.finished()) co_return kDone;
      if (!evicted.problem.empty()) co_return failed({ErrorKind::kUnavailable, evicted.problem, 0, 0});
      co_return failed({ErrorKind::kDeadline,
                        base::cat("not done after ",
                                  base::format_go_duration(
                                      std::chrono::floor<std::chrono::seconds>(loop.clock().monotonic() - began)),
                                  " on ", evicted.nodes - evicted.done, " of ", evicted.nodes,
                                  " nodes; the reasons are above. Run the command again to go on"),
                        0, 0});
    }
    std::optional<operate::WaitReport> waited;
    if (asked_for.wait > base::Duration(0) && !options.dry_run) {
      waited = co_await operate::wait_for_order(loop, client, log, random.fork(), *report, options,
                                                {asked_for.wait, [&](const operate::WaitProgress& seen) {
                                                   if (quiet) return;
                                                   progress.show(progress_text(wish, seen));
                                                 }});
      progress.end();
    }
    int answer = report->failed() ? kFailed : kDone;
    std::string text;
    if (quiet) {
      Json out = operate::render_json(*report, options);
      if (waited) cli::add_json(*waited, out);
      text = out.dump_pretty() + "\n";
    } else {
      text = cli::render_text(*report, options) + (waited ? without_agent_text(*waited) : "");
    }
    if (print(text) != kDone) answer = kFailed;
    if (waited && finish_wait(*waited, asked_for.wait) != kDone) answer = kFailed;
    co_return answer;
  });
}

}  // namespace

int run_off(const std::vector<std::string>& args) {
  return run_order(policy::state::Wish::kOff, args);
}
int run_on(const std::vector<std::string>& args) {
  return run_order(policy::state::Wish::kOn, args);
}
int run_observe(const std::vector<std::string>& args) {
  return run_order(policy::state::Wish::kObserve, args);
}

}  // namespace tidemark::main

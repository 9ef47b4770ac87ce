#include "cli/local_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/enforcer/found_journal.h"
#include "agent/enforcer/oom_journal.h"
#include "agent/enforcer/without_agent.h"
#include "agent/latch/latch.h"
#include "base/text.h"
#include "linux/cgroup/write.h"

namespace tidemark::cli {
namespace {

constexpr base::Duration kLookPause = std::chrono::milliseconds(100);

// The run folder goes with the machine's memory, the file beside it stays.
std::vector<std::string> latch_files(const LocalOrder& order) {
  return {agent::run_latch(order.places.run_dir), order.places.latch_file};
}

Result<bool> turn(const LocalOrder& order, base::WallTime now) {
  bool changed = false;
  for (const std::string& file : latch_files(order)) {
    if (order.off) {
      changed = changed || !agent::read_latch(file);
      TM_TRY_VOID(agent::set_latch(file, {order.by, order.why, now, ""}));
    } else {
      TM_TRY(const bool was, agent::clear_latch(file));
      changed = changed || was;
    }
  }
  return changed;
}

Result<std::vector<agent::LeftBehind>> left_of(const std::string& run_dir, const std::string& boot) {
  constexpr std::string_view kWhy = "the agent keeps it";
  TM_TRY(const auto journal, agent::read_found(run_dir, boot));
  TM_TRY(const auto scores, agent::read_oom_journal(run_dir, boot));
  std::vector<agent::LeftBehind> out;
  for (const auto& [id, file] : journal.files) {
    if (file.written.empty()) continue;
    out.push_back({file.group, std::string(agent::found_name(file.file)), file.found, std::string(kWhy)});
  }
  std::ranges::move(agent::oom_scores_left(scores, kWhy), std::back_inserter(out));
  return out;
}

}  // namespace

net::Task<Result<LocalReport>> give_local_order(net::EventLoop& loop, const LocalOrder& order) {
  LocalReport report;
  const std::string boot = agent::boot_id(order.places.proc_root);
  TM_CO_TRY(report.changed, turn(order, loop.clock().wall()));
  report.agent_runs = agent::FoundJournal::is_held(order.places.run_dir);
  if (!report.agent_runs) {
    if (!order.off) co_return report;
    TM_CO_TRY(const auto hierarchies, agent::see_groups(order.places));
    linux::KernelWriter writer;
    const auto last = agent::read_status(order.places.run_dir);
    const agent::AgentGone gone{order.places.proc_root, order.places.run_dir, boot,
                                last && *last ? (*last)->offline_group : ""};
    auto put_back = agent::off_without_agent(hierarchies, writer, gone, loop.clock());
    if (put_back) {
      report.left = put_back->left;
      report.put_back = std::move(*put_back);
      co_return report;
    }
    if (put_back.error().kind != ErrorKind::kAlreadyExists) co_return fail(std::move(put_back).error());
    report.agent_runs = true;  // it was started this moment
  }
  const base::MonotonicTime until = loop.clock().monotonic() + order.wait;
  while (true) {
    TM_CO_TRY(report.status, agent::read_status(order.places.run_dir));
    report.obeyed = report.status && report.status->latched == order.off;
    if (report.obeyed || loop.clock().monotonic() >= until) break;
    co_await loop.sleep(kLookPause);
  }
  TM_CO_TRY(auto left, left_of(order.places.run_dir, boot));
  if (order.off) report.left = std::move(left);
  co_return report;
}

Result<LocalReport> local_dry_run(const LocalOrder& order) {
  LocalReport report;
  for (const std::string& file : latch_files(order)) {
    report.changed = report.changed || agent::read_latch(file).has_value() != order.off;
  }
  report.agent_runs = agent::FoundJournal::is_held(order.places.run_dir);
  TM_TRY(report.status, agent::read_status(order.places.run_dir));
  TM_TRY(report.left, left_of(order.places.run_dir, agent::boot_id(order.places.proc_root)));
  return report;
}

std::string render_text(const LocalReport& report, const LocalOrder& order) {
  std::string out;
  const auto line = [&](const auto&... parts) { out += base::cat(parts..., "\n"); };
  const std::string_view word = order.off ? "off" : "on";
  if (order.dry_run) {
    line(report.changed ? base::cat("would switch this machine ", word)
                        : base::cat("this machine is ", word, " already"));
    line(report.agent_runs ? "an agent runs, and would obey" : "no agent runs");
    if (order.off) line("files that say something of ours: ", report.left.size());
    return out;
  }
  line(report.changed ? base::cat("this machine is switched ", word) : base::cat("this machine was ", word, " already"),
       order.off ? ", whatever the cluster says, until `tidemark on --local`" : ": the cluster's word holds again");
  if (report.agent_runs) {
    line(report.obeyed
             ? "the agent obeys"
             : "the agent has not answered yet; it looks once a second. Is it stopped, or of an older version?");
  } else if (!order.off) {
    line("no agent runs here");
  }
  if (report.put_back) {
    line("no agent runs here; put back: ", report.put_back->put_back,
         ", gone with their groups or changed since: ", report.put_back->gone);
  }
  if (!order.off) return out;
  if (report.left.empty()) {
    line("nothing of ours is left in the kernel's files");
    return out;
  }
  line("left until offline work has ended: ", report.left.size(), report.left.size() == 1 ? " file" : " files");
  for (const agent::LeftBehind& each : report.left) {
    line("  ", each.group, "/", each.file, "  was ", base::in_quotes(each.found), "  (", each.why, ")");
  }
  return out;
}

Json render_json(const LocalReport& report, const LocalOrder& order) {
  Json out = Json::object();
  out["local"] = Json(order.off ? "off" : "on");
  out["dryRun"] = Json(order.dry_run);
  out["changed"] = Json(report.changed);
  out["agentRuns"] = Json(report.agent_runs);
  out["obeyed"] = Json(report.obeyed);
  if (report.put_back) {
    out["putBack"] = Json(report.put_back->put_back);
    out["gone"] = Json(report.put_back->gone);
  }
  Json::Array left;
  for (const agent::LeftBehind& each : report.left) {
    Json one = Json::object();
    one["group"] = Json(each.group);
    one["file"] = Json(each.file);
    one["found"] = Json(each.found);
    one["why"] = Json(each.why);
    left.push_back(std::move(one));
  }
  out["left"] = Json(std::move(left));
  return out;
}

}  // namespace tidemark::cli

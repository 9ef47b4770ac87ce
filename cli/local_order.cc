#include "cli/local_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/enforcer/found_journal.h"
#include "agent/enforcer/oom_journal.h"
#include "agent/enforcer/without_agent.h"
#include "agent/latch/latch.h"
#include "agent/protect/kept_pods.h"
#include "base/text.h"
#include "linux/cgroup/write.h"

namespace tidemark::cli {
namespace {

constexpr base::Duration kLookPause = std::chrono::milliseconds(100);

// The run folder goes with the machine's memory, the file beside it stays.
std::vector<std::string> latch_files(const LocalOrder& order) {
  return {agent::run_latch(order.places.run_dir), order.places.latch_file};
}

// The value, or an empty one and an error for the report: the other steps continue.
template <class T>
T or_trouble(Result<T> result, std::vector<Error>& troubles) {
  if (result) return std::move(*result);
  troubles.push_back(std::move(result).error());
  return T();
}

// Each file by itself: a full disk does not prevent the latch in memory, which the agent reads.
void turn(const LocalOrder& order, base::WallTime now, LocalReport& report) {
  for (const std::string& file : latch_files(order)) {
    if (!order.off) {
      report.changed |= or_trouble(agent::clear_latch(file), report.troubles);
      continue;
    }
    const bool was = agent::read_latch(file).has_value();
    if (auto set = agent::set_latch(file, {order.by, order.why, now, ""}); !set) {
      const bool drawn = agent::set_empty_latch(file).has_value();
      report.troubles.push_back(std::move(set).error().within(
          drawn ? "the switch of this machine is drawn, without a word of who and why" : "the switch of this machine"));
      if (!drawn) continue;
    }
    report.changed |= !was;
  }
}

// What an agent that is not there any more left to be known by.
agent::AgentGone agent_gone(const LocalOrder& order, const agent::AgentStatus& last, LocalReport& report) {
  agent::AgentGone out{
      order.places.proc_root, order.places.run_dir, agent::boot_id(order.places.proc_root), last.offline_group, {}};
  if (!out.offline_group.empty()) {
    out.pods = or_trouble(agent::read_kept_pods(order.places.run_dir, out.offline_group), report.troubles);
  }
  return out;
}

// False: an agent runs, and it is its part.
bool do_it_without_agent(const LocalOrder& order, const base::Clock& clock, LocalReport& report) {
  const auto read = agent::read_status(order.places.run_dir);
  const agent::AgentStatus last = read && *read ? **read : agent::AgentStatus();
  // On: where nothing was switched off, or the cluster had it off as well, nothing is to be lifted.
  if (!order.off && (!report.changed || (last.off && !last.latched))) return true;
  const auto hierarchies = agent::see_groups(order.places);
  if (!hierarchies) {
    report.troubles.push_back(
        hierarchies.error().within(order.off ? "nothing is limited or restored" : "no limit is lifted"));
    return true;
  }
  linux::KernelWriter writer;
  const agent::AgentGone gone = agent_gone(order, last, report);
  auto done = order.off ? agent::off_without_agent(*hierarchies, writer, gone, clock)
                        : agent::on_without_agent(*hierarchies, writer, gone, clock);
  if (!done && done.error().kind == ErrorKind::kAlreadyExists) return false;  // it was started this moment
  if (!done) {
    report.troubles.push_back(std::move(done).error());
    return true;
  }
  report.left = done->left;
  report.put_back = std::move(*done);
  return true;
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

std::string place_of(const agent::LeftBehind& file) {
  return base::cat("  ", file.group, "/", file.file);
}

// The failed steps, for the operator to do by hand.
std::string render_failures(const LocalReport& report) {
  std::string out;
  const auto line = [&](const auto&... parts) { out += base::cat(parts..., "\n"); };
  const auto tell = [&](const std::vector<Error>& troubles) {
    for (const Error& each : troubles) line("not done: ", each.message);
  };
  if (report.put_back) {
    const auto& not_held = report.put_back->not_held;
    if (!not_held.empty()) line("NOT HELD, offline work runs on there as before: ", not_held.size());
    for (const agent::LeftBehind& each : not_held) line(place_of(each), "  (", each.why, ")");
    tell(report.put_back->troubles);
  }
  tell(report.troubles);
  return out;
}

Json::Array json_of(const std::vector<agent::LeftBehind>& files) {
  Json::Array out;
  for (const agent::LeftBehind& each : files) {
    Json one = Json::object();
    one["group"] = Json(each.group);
    one["file"] = Json(each.file);
    one["found"] = Json(each.found);
    one["why"] = Json(each.why);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

bool LocalReport::failed() const {
  return !troubles.empty() || (agent_runs && !obeyed) ||
         (put_back && (!put_back->not_held.empty() || !put_back->troubles.empty()));
}

net::Task<LocalReport> give_local_order(net::EventLoop& loop, const LocalOrder& order) {
  LocalReport report;
  turn(order, loop.clock().wall(), report);
  report.agent_runs = agent::FoundJournal::is_held(order.places.run_dir);
  if (!report.agent_runs) {
    if (do_it_without_agent(order, loop.clock(), report)) co_return report;
    report.agent_runs = true;
  }
  const base::MonotonicTime until = loop.clock().monotonic() + order.wait;
  while (true) {
    auto status = agent::read_status(order.places.run_dir);
    report.obeyed = status && *status && (*status)->latched == order.off;
    const bool last_look = report.obeyed || loop.clock().monotonic() >= until;
    if (last_look) report.status = or_trouble(std::move(status), report.troubles);
    if (last_look) break;
    co_await loop.sleep(kLookPause);
  }
  if (order.off && report.obeyed && report.status && !report.status->trouble.empty()) {
    report.troubles.push_back(
        {ErrorKind::kUnavailable, base::cat("the agent can write nothing: ", report.status->trouble), 0, 0});
  }
  if (order.off) {
    report.left = or_trouble(left_of(order.places.run_dir, agent::boot_id(order.places.proc_root)), report.troubles);
  }
  co_return report;
}

LocalReport local_dry_run(const LocalOrder& order) {
  LocalReport report;
  for (const std::string& file : latch_files(order)) {
    report.changed = report.changed || agent::read_latch(file).has_value() != order.off;
  }
  report.agent_runs = agent::FoundJournal::is_held(order.places.run_dir);
  report.status = or_trouble(agent::read_status(order.places.run_dir), report.troubles);
  report.left = or_trouble(left_of(order.places.run_dir, agent::boot_id(order.places.proc_root)), report.troubles);
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
  if (report.changed || report.troubles.empty()) {
    line(report.changed ? base::cat("this machine is switched ", word)
                        : base::cat("this machine was ", word, " already"),
         order.off ? ", whatever the cluster says, until `tidemark on --local`" : ": the cluster's word holds again");
  }
  if (report.agent_runs) {
    line(report.obeyed
             ? "the agent obeys"
             : "the agent has not answered yet; it looks once a second. Is it stopped, or of an older version?");
  } else if (!order.off) {
    line("no agent runs here");
  }
  if (report.put_back && order.off) {
    line("no agent runs here; put back: ", report.put_back->put_back,
         ", gone with their groups or changed since: ", report.put_back->gone);
  } else if (report.put_back) {
    line("files that have again what they had before the machine was switched off: ", report.put_back->put_back);
  }
  out += render_failures(report);
  if (!order.off) return out;
  if (report.left.empty()) {
    if (!report.failed()) line("nothing of ours is left in the kernel's files");
    return out;
  }
  line("left until offline work has ended: ", report.left.size(), report.left.size() == 1 ? " file" : " files");
  for (const agent::LeftBehind& each : report.left) {
    line(place_of(each), "  was ", base::in_quotes(each.found), "  (", each.why, ")");
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
    out["notHeld"] = Json(json_of(report.put_back->not_held));
  }
  out["left"] = Json(json_of(report.left));
  Json::Array troubles;
  for (const Error& each : report.troubles) troubles.emplace_back(each.message);
  if (report.put_back) {
    for (const Error& each : report.put_back->troubles) troubles.emplace_back(each.message);
  }
  out["notDone"] = Json(std::move(troubles));
  return out;
}

}  // namespace tidemark::cli

#include "yarn_copilot/local_limit.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "model/reason.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::size_t kLooksWaitingMax = 1;

std::string mib(std::int64_t bytes) {
  return std::to_string(bytes >> 20);
}

}  // namespace

LocalLimit::LocalLimit(net::EventLoop& loop, Containers& containers, Ends& ends, base::Log log, base::Registry& metrics,
                       LocalLimitConfig config)
    : loop_(loop),
      containers_(containers),
      ends_(ends),
      log_(std::move(log)),
      config_(std::move(config)),
      bytes_(metrics.gauge("tidemark_yarn_copilot_local_dirs_bytes",
                           "Bytes in the local folders of the NodeManager, at the last pass.")),
      whole_(metrics.gauge("tidemark_yarn_copilot_local_dirs_seen_whole",
                           "1 if the last passes together saw all of it, 0 if there is more than the limits allow or "
                           "than is readable.")),
      stopped_(metrics.counter("tidemark_yarn_copilot_local_dirs_stopped_total",
                               "Containers stopped because those folders exceed their limit.")),
      worker_(1, kLooksWaitingMax) {
  metrics.gauge("tidemark_yarn_copilot_local_dirs_limit_bytes", "Limit of those folders in bytes; 0 without a limit.")
      .set(static_cast<double>(config_.limit_bytes));
}

net::Task<void> LocalLimit::run() {
  while (true) {
    co_await pass();
    co_await loop_.sleep(std::clamp(took_ * kLookShare, config_.interval, std::max(config_.interval, kLookAgainMax)));
  }
}

net::Task<void> LocalLimit::pass() {
  const auto running = co_await containers_.running(Detail::kPlain);
  const base::MonotonicTime begin = loop_.clock().monotonic();
  std::set<LocalApplication> applications;
  if (running) {
    for (const SeenContainer& each : *running) {
      if (each.yarn) applications.insert({each.said.user, std::string(each.yarn->application)});
    }
  }
  std::function<LocalSight()> look = [folders = config_.folders, applications, memory = memory_, limits = config_.look,
                                      clock = &loop_.clock()] {
    return look_at_local_dirs(folders, applications, memory, limits, *clock);
  };
  auto seen = co_await worker_.run(loop_, std::move(look));
  if (!seen) co_return;
  took_ = loop_.clock().monotonic() - begin;
  last_ = std::move(seen->use);
  memory_ = std::move(seen->memory);
  bytes_.set(static_cast<double>(last_->bytes));
  whole_.set(last_->whole ? 1 : 0);
  tell_absent();
  tell_cut();
  if (running && config_.limit_bytes > 0) co_await enforce(*running);
}

std::vector<LocalHolder> LocalLimit::holders_of(const std::vector<SeenContainer>& running) const {
  std::vector<LocalHolder> holders;
  for (const SeenContainer& each : running) {
    if (!each.yarn) continue;
    holders.push_back({.id = each.said.id,
                       .application = {each.said.user, std::string(each.yarn->application)},
                       .master = each.master(),
                       .began = each.began,
                       .ending = ends_.deadline(each.said.id).has_value()});
  }
  return holders;
}

net::Task<void> LocalLimit::enforce(const std::vector<SeenContainer>& running) {
  const std::vector<LocalHolder> holders = holders_of(running);
  LocalStep step =
      step_local_ends(std::move(ends_so_far_), holders, *last_, config_.limit_bytes, loop_.clock().monotonic());
  ends_so_far_ = std::move(step.ends);
  if (step.no_victim_helps && !told_no_victim_) {
    log_.warn("the local folders hold more than their limit, and ending all containers would not help",
              {{"mib", mib(last_->bytes)},
               {"limit_mib", mib(config_.limit_bytes)},
               {"ended_in_vain", std::to_string(ends_so_far_.in_vain)}});
  }
  told_no_victim_ = step.no_victim_helps;
  if (step.victim) co_await end(holders[*step.victim]);
}

net::Task<void> LocalLimit::end(LocalHolder victim) {
  log_.warn("the local folders hold more than their limit",
            {{"mib", mib(last_->bytes)},
             {"limit_mib", mib(config_.limit_bytes)},
             {"application", victim.application.application},
             {"container", victim.id},
             {"reason", model::reason_id(model::Reason::kYarnLocalDirs)}});
  const auto asked = co_await ends_.stop(
      {victim.id, std::string(model::reason_id(model::Reason::kYarnLocalDirs)), "yarn-copilot"}, config_.grace);
  memory_.folders.clear();  // the effect must be measured anew
  if (asked) stopped_.add();
  if (!asked) log_.warn("cannot ask container to end", {{"container", victim.id}, {"error", asked.error()}});
}

std::optional<std::int64_t> LocalLimit::bytes_of(std::string_view container) const {
  if (!last_) return std::nullopt;
  const auto found = last_->containers.find(container);
  if (found != last_->containers.end()) return found->second;
  return last_->whole ? std::optional<std::int64_t>(0) : std::nullopt;  // unmeasured usage is unknown
}

std::vector<copilot::HeldOnDisk> LocalLimit::held_by(std::string_view container) const {
  std::vector<copilot::HeldOnDisk> out;
  if (!last_) return out;
  const auto found = last_->devices.find(container);
  if (found == last_->devices.end()) return out;
  for (const auto& [device, part] : found->second) out.push_back({device, part.bytes, part.inodes});
  return out;
}

// A partial sum above the limit is above it in any case; a partial sum below it proves nothing.
void LocalLimit::tell_cut() {
  const bool cut = !last_->whole && last_->absent.empty();
  if (cut && !told_cut_) {
    log_.warn(
        "the local folders hold more than was measured so far; the comparison with their limit uses a lower bound",
        {{"seen_mib", mib(last_->bytes)},
         {"entries_max", config_.look.entries},
         {"time_max", base::format_go_duration(config_.look.time)}});
  }
  told_cut_ = cut;
}

void LocalLimit::tell_absent() {
  std::set<std::string> absent(last_->absent.begin(), last_->absent.end());
  for (const std::string& each : absent) {
    if (!told_absent_.contains(each)) log_.warn("a local folder cannot be opened", {{"folder", each}});
  }
  told_absent_ = std::move(absent);
}

}  // namespace tidemark::yarn_copilot

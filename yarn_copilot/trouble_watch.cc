#include "yarn_copilot/trouble_watch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/names.h"

namespace tidemark::yarn_copilot {
namespace {

bool has_begun(const SeenContainer& each) {
  if (each.began || each.said.exit_code >= 0) return true;
  return !hadoop::waits_to_begin(each.said.state) && !hadoop::has_ended(each.said.state);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

TroubleWatch::TroubleWatch(net::EventLoop& loop, Containers& containers, Config config, base::Log log,
                           base::Registry& metrics)
    : loop_(loop), containers_(containers), config_(std::move(config)), log_(std::move(log)), metrics_(metrics) {}

net::Task<void> TroubleWatch::watch_ends() {
  while (true) {
    co_await look_at_ends();
    co_await loop_.sleep(config_.ends_interval);
  }
}

net::Task<void> TroubleWatch::watch_stuck() {
  while (true) {
    co_await look_at_stuck();
    co_await loop_.sleep(kStuckInterval);
  }
}

std::string TroubleWatch::class_of(const hadoop::ApplicationReport& report) const {
  for (auto& [name, value] : work_labels(report, config_.queues)) {
    if (name == model::kClassLabel) return value;
  }
  return {};
}

std::vector<Sighting> TroubleWatch::sightings_of(const std::vector<SeenContainer>& containers) const {
  std::vector<Sighting> seen;
  for (const SeenContainer& each : containers) {
    Sighting& one = seen.emplace_back(
        Sighting{each.said.id, {}, each.said.state, each.said.exit_code, each.master(), has_begun(each), {}});
    if (each.use) one.cpu_ns = each.use->cpu_ns;
    if (each.application) one.work_class = class_of(*each.application);
  }
  return seen;
}

net::Task<void> TroubleWatch::look_at_ends() {
  const auto listed = co_await containers_.all(Detail::kPlain);
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (listed) {  // without a list nothing is known
    EndStep step = look_for_bad_ends(ends_, sightings_of(*listed), now);
    ends_ = std::move(step.state);
    for (FoundTrouble& each : step.found) {
      const auto said = std::ranges::find(*listed, each.id, [](const SeenContainer& one) { return one.said.id; });
      untold_.push_back({std::move(each), said == listed->end() ? std::string() : first_line(said->said.diagnostics),
                         now + kClassPatience});
    }
  }
  tell_known();
}

void TroubleWatch::tell_known() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::erase_if(untold_, [&](const Untold& each) {
    const hadoop::ApplicationReport* report = containers_.application_of(each.found.id);
    if (report == nullptr && containers_.asks_for_applications() && now < each.by) return false;
    tell(each, report == nullptr ? std::string() : class_of(*report));
    return true;
  });
}

void TroubleWatch::tell(const Untold& each, const std::string& work_class) {
  log_.warn("container did not start", {{"container", each.found.id},
                                        {"why", to_string(each.found.trouble)},
                                        {"class", work_class},
                                        {"node_manager_says", each.said}});
  metrics_
      .counter("tidemark_yarn_copilot_troubled_containers_total",
               "Containers whose files could not be fetched, or that ended without a process.",
               {{"class", class_label(work_class)}, {"reason", std::string(to_string(each.found.trouble))}})
      .add();
}

net::Task<void> TroubleWatch::look_at_stuck() {
  const auto listed = co_await containers_.all(Detail::kUse);
  if (!listed) co_return;
  StuckStep step = look_for_stuck(stuck_, sightings_of(*listed), loop_.clock().monotonic());
  stuck_ = std::move(step.state);
  std::map<std::string, std::int64_t> stuck;
  for (const std::string& each : classes_) stuck[each] = 0;
  for (const auto& [work_class, count] : step.stuck) stuck[class_label(work_class)] += count;
  for (const auto& [label, count] : stuck) {
    metrics_
        .gauge("tidemark_yarn_copilot_stuck_containers",
               "Containers that used next to no processor for ten minutes, or waited so long for their files; without "
               "masters that run.",
               {{"class", label}})
        .set(static_cast<double>(count));
  }
}

std::string TroubleWatch::class_label(const std::string& work_class) {
  if (work_class.empty()) return "";
  if (!classes_.contains(work_class) && classes_.size() >= kClassesMax) return "other";
  classes_.insert(work_class);
  return work_class;
}

}  // namespace tidemark::yarn_copilot

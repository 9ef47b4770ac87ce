#include "yarn_copilot/trouble_watch.h"

#include <map>
#include <utility>

#include "model/names.h"

namespace tidemark::yarn_copilot {

TroubleWatch::TroubleWatch(net::EventLoop& loop, Containers& containers, std::vector<QueueClass> queues, base::Log log,
                           base::Registry& metrics)
    : loop_(loop), containers_(containers), queues_(std::move(queues)), log_(std::move(log)), metrics_(metrics) {}

net::Task<void> TroubleWatch::run() {
  while (true) {
    co_await pass();
    co_await loop_.sleep(kTroubleInterval);
  }
}

net::Task<void> TroubleWatch::pass() {
  const auto listed = co_await containers_.all(Detail::kUse);
  if (!listed) co_return;  // of who is away nothing is known
  std::vector<Sighting> seen;
  for (const SeenContainer& each : *listed) {
    Sighting one{
        each.said.id, {}, each.said.state, each.master(), each.began.has_value() || each.said.exit_code >= 0, {}};
    if (each.use) one.cpu_ns = each.use->cpu_ns;
    if (each.application) {
      for (auto& [name, value] : work_labels(*each.application, queues_)) {
        if (name == model::kClassLabel) one.work_class = std::move(value);
      }
    }
    seen.push_back(std::move(one));
  }
  auto step = look_for_troubles(state_, seen, loop_.clock().monotonic());
  state_ = std::move(step.state);
  for (const auto& each : step.report.found) {
    log_.warn("a container did not come to work", {{"container", each.id}, {"why", to_string(each.trouble)}});
    metrics_
        .counter("tidemark_yarn_copilot_troubled_containers_total",
                 "Containers whose files could not be fetched, or that ended without ever having had a process.",
                 {{"class", class_label(each.work_class)}, {"reason", std::string(to_string(each.trouble))}})
        .add();
  }
  std::map<std::string, std::int64_t> stuck;
  for (const std::string& each : classes_) stuck[each] = 0;
  for (const auto& [work_class, count] : step.report.stuck) stuck[class_label(work_class)] += count;
  for (const auto& [label, count] : stuck) {
    metrics_
        .gauge("tidemark_yarn_copilot_stuck_containers",
               "Containers that run and used next to no processor for ten minutes; without masters.",
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

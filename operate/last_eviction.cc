#include "operate/last_eviction.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/state/mark_write.h"
#include "model/ended_tasks.h"

namespace tidemark::operate {
namespace {

constexpr std::string_view kNodeEvents = "default";  // the namespace of events about what has none

void later(std::optional<LastEviction::Told>& last, base::WallTime at, std::string object, std::string revision) {
  if (last && last->at >= at) return;
  last = {at, std::move(object), std::move(revision)};
}

void of_yarn(const kube::Node& node, base::WallTime now, LastEviction& last) {
  const kube::Text* text = node.meta.annotations.find(model::kEndedTasksAnnotation);
  if (text == nullptr) return;
  const auto ends = model::parse_ended_tasks(text->view());
  if (!ends) {
    last.notes.push_back(base::cat(model::kEndedTasksAnnotation, ": ", ends.error().message));
    return;
  }
  for (const model::EndedTasks& each : *ends) {
    if (each.evicted == 0 || manager::class_is_off(node, each.work_class, now)) continue;
    later(last.yarn, std::min(each.at, now), base::cat("Node ", node.meta.name), node.meta.resource_version);
  }
}

}  // namespace

const LastEviction::Told* LastEviction::latest() const {
  if (kubernetes && (!yarn || yarn->at <= kubernetes->at)) return &*kubernetes;
  return yarn ? &*yarn : nullptr;
}

net::Task<LastEviction> last_eviction(kube::Client& client, const kube::Node& node,
                                      std::span<const manager::PodEnd> ends, base::WallTime now, base::Duration limit) {
  LastEviction last;
  for (const manager::PodEnd& end : ends) {
    if (!end.makes_back_off() || !end.when || node.unschedulable) continue;
    if (manager::class_is_off(node, end.work_class, now)) continue;
    later(last.kubernetes, std::min(*end.when, now), base::cat("Pod ", end.meta.ns, "/", end.meta.name),
          end.meta.resource_version);
  }
  if (!node.unschedulable) of_yarn(node, now, last);
  // Most pods that are evicted are gone soon. The manager writes an event for each eviction that makes it back off.
  std::vector<kube::Event> events;
  kube::Interner interner;
  kube::ListOptions list;
  list.ns = kNodeEvents;
  list.field_selector = base::cat("involvedObject.kind=Node,involvedObject.name=", node.meta.name);
  const auto done = co_await client.list(
      kube::kEvents, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(auto event, kube::decode_event(item, kube::MetaFields(), interner));
          if (event.reason.view() == manager::kBacksOffEvent || event.reason.view() == manager::kYarnBacksOffEvent) {
            events.push_back(std::move(event));
          }
          return {};
        }));
        return {};
      },
      [&] { events.clear(); }, limit);
  if (!done) {
    last.notes.push_back(base::cat(
        "events of the Node could not be read, so an eviction whose pod is gone is not seen: ", done.error().message));
  }
  for (const kube::Event& event : events) {
    const bool of_this_node = event.about_uid.empty() || event.about_uid.view() == node.meta.uid.view();
    if (!event.last || !of_this_node) continue;
    auto& side = event.reason.view() == manager::kYarnBacksOffEvent ? last.yarn : last.kubernetes;
    later(side, std::min(*event.last, now), base::cat("Event ", kNodeEvents, "/", event.meta.name),
          event.meta.resource_version);
  }
  co_return last;
}

}  // namespace tidemark::operate

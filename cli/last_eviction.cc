#include "cli/last_eviction.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/decode.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/state/mark_write.h"
#include "model/ended_tasks.h"

namespace tidemark::cli {
namespace {

// So soon after YARN's work was evicted, an event of the manager tells of that.
constexpr base::Duration kEventAfter = std::chrono::seconds(10);
constexpr std::string_view kNodeEvents = "default";  // the namespace of events about what has none

struct Event {
  std::string name;
  std::string revision;
  std::string uid;  // of the node that it is about
  std::optional<base::WallTime> last;
};

Result<Event> decode_event(std::string_view bytes) {
  Event event;
  kube::Interner interner;
  kube::Decoder decoder(bytes, interner);
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      decoder.object([&](std::string_view member) {
        if (member == "name") {
          decoder.string(event.name);
        } else if (member == "resourceVersion") {
          decoder.string(event.revision);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "involvedObject") {
      decoder.object([&](std::string_view member) {
        if (member == "uid") {
          decoder.string(event.uid);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "lastTimestamp") {
      decoder.time(event.last);
    } else {
      decoder.skip();
    }
  });
  TM_TRY_VOID(decoder.finish("Event"));
  return event;
}

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
  std::vector<Event> events;
  kube::ListOptions list;
  list.ns = kNodeEvents;
  list.field_selector =
      base::cat("involvedObject.kind=Node,involvedObject.name=", node.meta.name, ",reason=", manager::kBacksOffEvent);
  const auto done = co_await client.list(
      kube::kEvents, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(auto event, decode_event(item));
          events.push_back(std::move(event));
          return {};
        }));
        return {};
      },
      [&] { events.clear(); }, limit);
  if (!done) {
    last.notes.push_back(base::cat(
        "events of the Node could not be read, so an eviction whose pod is gone is not seen: ", done.error().message));
  }
  for (Event& event : events) {
    const bool of_this_node = event.uid.empty() || event.uid == node.meta.uid.view();
    const auto& yarn = last.yarn;
    const bool of_yarn = event.last && yarn && yarn->at <= *event.last && *event.last - yarn->at < kEventAfter;
    if (event.last && of_this_node && !of_yarn) {
      later(last.kubernetes, std::min(*event.last, now), base::cat("Event ", kNodeEvents, "/", event.name),
            std::move(event.revision));
    }
  }
  co_return last;
}

}  // namespace tidemark::cli

#include "console/projections.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "kube/convert.h"
#include "kube/decode.h"
#include "model/ended_tasks.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/qos.h"

namespace tidemark::console {
namespace {

bool is_offline(model::PriorityClass priority, model::Qos qos) {
  return qos == model::Qos::kBe || priority == model::PriorityClass::kMid || priority == model::PriorityClass::kBatch ||
         priority == model::PriorityClass::kFree;
}

kube::PodFields task_fields() {
  kube::PodFields fields;
  fields.meta.labels = {model::kQosClassLabel, model::kPriorityClassLabel, model::kPriorityLabel, model::kClassLabel,
                        model::kJobLabel};
  fields.statuses = false;
  return fields;
}

bool requests_sold(const kube::Pod& pod) {
  return std::ranges::any_of(pod.containers, [](const kube::Container& each) {
    return each.requests.get(model::kBatchCpu) > 0 || each.requests.get(model::kBatchMemory) > 0 ||
           each.requests.get(model::kMidCpu) > 0 || each.requests.get(model::kMidMemory) > 0;
  });
}

// By its own labels and priority. Koordinator counts a pod without requests as BE; most such pods are system pods.
bool is_marked_offline(const kube::Pod& pod) {
  const kube::Text* label = pod.meta.labels.find(model::kPriorityClassLabel);
  const auto priority =
      model::priority_class_raw(label == nullptr ? std::nullopt : std::optional(label->view()), pod.priority);
  return is_offline(priority, model::parse_qos(pod.meta.labels.get(model::kQosClassLabel)));
}

std::uint32_t seconds_or_zero(const std::optional<base::WallTime>& time) {
  if (!time) return 0;
  const auto whole = std::chrono::floor<std::chrono::seconds>(time->since_epoch).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole, 0, std::numeric_limits<std::uint32_t>::max()));
}

// The words of a pod's status that say why it waits or how it ended.
struct StatusWords {
  std::string reason, message;            // of the status itself
  std::string disrupted, disrupted_text;  // of the condition DisruptionTarget
  std::string disrupted_at;               // its lastTransitionTime
  std::string unscheduled;                // of the condition PodScheduled, if it is false
  std::string waiting, waiting_text;      // of the first container that waits
  std::string ended;                      // of the first container that failed
};

void read_condition(kube::Decoder& decoder, StatusWords& words) {
  std::string type, status, reason, message, changed;
  decoder.object([&](std::string_view key) {
    if (key == "type") {
      decoder.string(type);
    } else if (key == "status") {
      decoder.string(status);
    } else if (key == "reason") {
      decoder.string(reason);
    } else if (key == "message") {
      decoder.string(message);
    } else if (key == "lastTransitionTime") {
      decoder.string(changed);
    } else {
      decoder.skip();
    }
  });
  if (type == "DisruptionTarget" && status == "True") {
    words.disrupted_at = changed;
    words.disrupted = reason.empty() ? "Unknown" : reason;
    words.disrupted_text = message;
  } else if (type == "PodScheduled" && status == "False") {
    words.unscheduled = message.empty() ? reason : message;
  }
}

void read_container(kube::Decoder& decoder, StatusWords& words) {
  decoder.object([&](std::string_view key) {
    if (key != "state") return decoder.skip();
    decoder.object([&](std::string_view state) {
      std::string reason, message;
      std::int64_t code = 0;
      decoder.object([&](std::string_view member) {
        if (member == "reason") {
          decoder.string(reason);
        } else if (member == "message") {
          decoder.string(message);
        } else if (member == "exitCode") {
          decoder.integer(code);
        } else {
          decoder.skip();
        }
      });
      if (state == "waiting" && words.waiting.empty()) {
        words.waiting = reason;
        words.waiting_text = message;
      } else if (state == "terminated" && code != 0 && words.ended.empty()) {
        words.ended = base::cat(reason.empty() ? "Error" : reason, ", exit code ", code);
      }
    });
  });
}

Result<StatusWords> read_status(std::string_view bytes, kube::Interner& interner) {
  StatusWords words;
  kube::Decoder decoder(bytes, interner);
  decoder.object([&](std::string_view key) {
    if (key != "status") return decoder.skip();
    decoder.object([&](std::string_view member) {
      if (member == "reason") {
        decoder.string(words.reason);
      } else if (member == "message") {
        decoder.string(words.message);
      } else if (member == "conditions") {
        decoder.array([&] { read_condition(decoder, words); });
      } else if (member == "containerStatuses") {
        decoder.array([&] { read_container(decoder, words); });
      } else {
        decoder.skip();
      }
    });
  });
  TM_TRY_VOID(decoder.finish("Pod"));
  return words;
}

std::string joined(const std::string& reason, const std::string& message) {
  if (reason.empty() || message.empty()) return reason.empty() ? message : reason;
  return base::cat(reason, ": ", message);
}

// A container that waits for its first start is not stuck.
bool is_stuck(const StatusWords& words) {
  return !words.waiting.empty() && words.waiting != "ContainerCreating" && words.waiting != "PodInitializing";
}

std::string why_of(const StatusWords& words, model::PodPhase phase) {
  if (!words.disrupted.empty()) return joined(words.disrupted, words.disrupted_text);
  if (!words.reason.empty()) return joined(words.reason, words.message);
  if (phase == model::PodPhase::kFailed) return words.ended;
  if (phase == model::PodPhase::kPending && !words.unscheduled.empty()) return words.unscheduled;
  return is_stuck(words) ? joined(words.waiting, words.waiting_text) : std::string();
}

// Cuts between characters, not inside one.
std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

}  // namespace

std::size_t NodeReport::bytes() const {
  return sizeof(NodeReport) + meta.ns.bytes() + meta.name.bytes() + kube::string_bytes(meta.resource_version);
}

Result<NodeReport> decode_node_report(std::string_view bytes, kube::Interner& interner) {
  static const kube::NodeMetricFields fields;
  TM_TRY(kube::NodeMetric metric, kube::decode_node_metric(bytes, fields, interner));
  const model::NodeMetricView view = kube::to_node_metric_view(metric);
  NodeReport report;
  report.meta = {std::move(metric.meta.ns), std::move(metric.meta.name), std::move(metric.meta.resource_version)};
  report.updated = view.update_time;
  report.used = view.node_usage;
  for (const model::PodUsage& pod : view.pods) {
    if (is_offline(pod.priority, pod.qos)) report.offline += pod.usage;
  }
  for (const model::HostApplicationUsage& application : view.host_applications) {
    if (is_offline(application.priority, application.qos)) report.offline += application.usage;
  }
  return report;
}

std::size_t Task::bytes() const {
  return sizeof(Task) + meta.ns.bytes() + meta.name.bytes() + kube::string_bytes(meta.resource_version) + node.bytes() +
         work_class.bytes() + job.bytes() + why.bytes();
}

Result<Task> decode_task(std::string_view bytes, kube::Interner& interner) {
  static const kube::PodFields fields = task_fields();
  TM_TRY(kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  Task task;
  task.offline = requests_sold(pod) || is_marked_offline(pod);
  task.meta = {std::move(pod.meta.ns), std::move(pod.meta.name), std::move(pod.meta.resource_version)};
  if (!task.offline) return task;
  task.node = std::move(pod.node_name);
  if (const kube::Text* named = pod.meta.labels.find(model::kClassLabel)) task.work_class = *named;
  if (const kube::Text* named = pod.meta.labels.find(model::kJobLabel)) {
    task.job = *named;
  } else if (!pod.meta.owner_name.empty()) {
    task.job = interner.intern(base::cat(pod.meta.owner_kind.view(), "/", pod.meta.owner_name.view()));
  }
  task.phase = pod.phase;
  task.terminating = pod.meta.deleted.has_value();
  task.request = kube::batch_request(pod);
  task.created_s = seconds_or_zero(pod.meta.created);
  task.started_s = seconds_or_zero(pod.started);
  task.deleted_s = seconds_or_zero(pod.meta.deleted);
  TM_TRY(const StatusWords words, read_status(bytes, interner));
  task.evicted = words.disrupted == "EvictionByEvictionAPI" || words.reason == "Evicted";
  task.stuck = is_stuck(words);
  if (task.evicted) task.ended_s = seconds_or_zero(base::parse_rfc3339(words.disrupted_at));
  task.why = kube::Text::plain(cut(why_of(words, task.phase), Task::kWhyBytesMax));
  return task;
}

kube::NodeFields node_fields() {
  kube::NodeFields fields;
  fields.meta.labels = kube::KeyFilter::all();  // pools select nodes by any of them
  fields.meta.annotations = {
      model::kStateDetailAnnotation, model::kColocationStrategyAnnotation, model::kYarnBookAnnotation,
      model::kYarnOfferAnnotation,   model::kConfigHashAnnotation,         model::kYarnClusterIdAnnotation,
      kYarnBookOfAnnotation,         model::kEndedTasksAnnotation,         model::kYarnPreemptedAnnotation};
  fields.condition_messages = {model::kIsolationCondition};
  fields.info = true;
  return fields;
}

}  // namespace tidemark::console

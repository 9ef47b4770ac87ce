#include "gateway/spark_pod.h"

#include "base/json.h"
#include "gateway/driver_objects.h"
#include "kube/intern.h"

namespace tidemark::gateway {
namespace {

using base::JsonReader;

void read_metadata(JsonReader& json, SparkPod& out) {
  read_run_object(json, out, [&](std::string_view label) {
    if (label == "spark-role") {
      std::string role;
      json.string(role);
      out.is_driver = role == "driver";
    } else if (label == "spark-app-selector") {
      json.string(out.app_id);
    } else if (label == "spark-exec-id") {
      json.string(out.executor);
    } else {
      return false;
    }
    return true;
  });
  out.driver.deleted = out.deleted;
}

struct ContainerStatus {
  std::string name;
  bool running = false;
  std::optional<std::int64_t> exit_code;
  std::string reason;   // of its end
  std::string waiting;  // the reason why it does not start
};

void read_container_state(JsonReader& json, ContainerStatus& out) {
  json.object([&](std::string_view state) {
    if (state == "running") {
      out.running = json.peek() == JsonReader::Type::kObject;
      json.skip();
    } else if (state == "waiting") {
      json.object([&](std::string_view key) {
        if (key == "reason") {
          json.string(out.waiting);
        } else {
          json.skip();
        }
      });
    } else if (state == "terminated") {
      json.object([&](std::string_view key) {
        if (key == "exitCode") {
          std::int64_t code = 0;
          if (json.integer(code)) out.exit_code = code;
        } else if (key == "reason") {
          json.string(out.reason);
        } else {
          json.skip();
        }
      });
    } else {
      json.skip();
    }
  });
}

void read_condition(JsonReader& json, SparkPod& out) {
  std::string type, status, reason;
  json.object([&](std::string_view key) {
    if (key == "type") {
      json.string(type);
    } else if (key == "status") {
      json.string(status);
    } else if (key == "reason") {
      json.string(reason);
    } else {
      json.skip();
    }
  });
  if (type == "DisruptionTarget" && status == "True") out.driver.disruption = reason.empty() ? type : reason;
}

void read_status(JsonReader& json, SparkPod& out) {
  json.object([&](std::string_view key) {
    if (key == "phase") {
      json.string(out.driver.phase);
    } else if (key == "reason") {
      json.string(out.driver.reason);
    } else if (key == "conditions") {
      json.array([&] { read_condition(json, out); });
    } else if (key == "containerStatuses") {
      json.array([&] {
        ContainerStatus container;
        json.object([&](std::string_view field) {
          if (field == "name") {
            json.string(container.name);
          } else if (field == "state") {
            read_container_state(json, container);
          } else {
            json.skip();
          }
        });
        if (container.name != kDriverContainer) return;
        out.driver.container_running = container.running;
        out.driver.exit_code = container.exit_code;
        out.driver.terminated_reason = container.reason;
        out.driver.waiting_reason = container.waiting;
      });
    } else {
      json.skip();
    }
  });
}

}  // namespace

std::size_t SparkPod::bytes() const {
  std::size_t sum = sizeof *this + heap_bytes();
  for (const std::string* text : {&app_id, &executor, &driver.phase, &driver.reason, &driver.disruption,
                                  &driver.terminated_reason, &driver.waiting_reason}) {
    sum += kube::string_bytes(*text);
  }
  return sum;
}

Result<SparkPod> decode_spark_pod(std::string_view bytes) {
  SparkPod out;
  JsonReader json(bytes);
  json.object([&](std::string_view key) {
    if (key == "metadata") {
      read_metadata(json, out);
    } else if (key == "spec") {
      json.object([&](std::string_view field) {
        if (field == "nodeName") {
          std::string node;
          json.string(node);
          out.driver.has_node = !node.empty();
        } else {
          json.skip();
        }
      });
    } else if (key == "status") {
      read_status(json, out);
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(json.finish());
  if (out.meta.name.empty()) return fail(ErrorKind::kInvalid, "a pod without a name");
  return out;
}

}  // namespace tidemark::gateway

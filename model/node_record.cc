#include "model/node_record.h"

#include <chrono>
#include <span>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::model {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::int64_t kOverMax_ms = std::int64_t{1000} * 60 * 60 * 24;

void some(base::JsonWriter& json, std::string_view key, const std::optional<std::int64_t>& value) {
  if (value) json.member(key, *value);
}
void some(base::JsonWriter& json, std::string_view key, std::int64_t value) {
  if (value != 0) json.member(key, value);
}
void some(base::JsonWriter& json, std::string_view key, const std::string& value) {
  if (!value.empty()) json.member(key, value);
}

void write(base::JsonWriter& json, const TaskLimit& limit) {
  json.begin_object();
  some(json, "container", limit.container);
  json.member("file", limit.file).member("value", limit.value);
  if (limit.state != kLimitInForce) json.member("state", limit.state);
  json.member("reason", limit.reason).end_object();
}

void write(base::JsonWriter& json, const TaskRecord& task) {
  json.begin_object().member("source", task.source);
  some(json, "namespace", task.ns);
  json.member("name", task.name).member("task", task.task);
  some(json, "group", task.group);
  if (task.offline) json.member("offline", true);
  some(json, "class", task.work_class);
  some(json, "cpu", task.cpu_milli);
  some(json, "cpuPeak", task.cpu_peak_milli);
  some(json, "memory", task.memory_bytes);
  some(json, "throttled", task.throttled_permille);
  some(json, "cpuPressure", task.cpu_pressure);
  some(json, "memoryPressure", task.memory_pressure);
  some(json, "ioPressure", task.io_pressure);
  some(json, "runQueue", task.run_queue);
  some(json, "runQueueWorst", task.run_queue_worst);
  some(json, "cpi", task.cpi);
  some(json, "limitHits", task.limit_hits);
  some(json, "oomKills", task.oom_kills);
  if (task.ended) json.member("ended", true);
  if (!task.limits.empty()) {
    json.key("limits").begin_array();
    for (const TaskLimit& each : task.limits) write(json, each);
    json.end_array();
  }
  json.end_object();
}

void write(base::JsonWriter& json, const ClassRecord& work_class) {
  json.begin_object().member("class", work_class.name);
  some(json, "used", work_class.used_milli);
  some(json, "share", work_class.share_milli);
  some(json, "satisfaction", work_class.satisfaction_permille);
  json.end_object();
}

void write(base::JsonWriter& json, const NodeEventRecord& event) {
  json.begin_object().member("time", base::format_rfc3339_micro(event.time)).member("what", event.what);
  some(json, "process", event.process);
  some(json, "task", event.task);
  some(json, "limit", event.limit);
  json.end_object();
}

// Parses a record, member by member. Numbers are never negative.
class Parser {
 public:
  explicit Parser(std::string_view line) : json_(line) {}

  Result<NodeRecordLine> parse() {
    json_.object([&](std::string_view key) { member(key); });
    TM_TRY_VOID(json_.finish());
    if (schema_ != kNodeRecordSchema) {
      return fail(ErrorKind::kUnsupported, "a record of schema ", schema_, ", and this program reads ",
                  kNodeRecordSchema);
    }
    if (lost_ > 0) return NodeRecordLine{{}, static_cast<std::uint64_t>(lost_)};
    if (!timed_) return fail(ErrorKind::kInvalid, "missing time");
    if (milliseconds_ > kOverMax_ms) {
      return fail(ErrorKind::kInvalid, "a record over ", milliseconds_, " ms; at most one day");
    }
    record_.over = milliseconds(milliseconds_);
    return NodeRecordLine{std::move(record_), 0};
  }

 private:
  void count(std::int64_t& into) {
    json_.integer(into);
    if (json_.ok() && into < 0) json_.fail_here("a negative number");
  }
  void count(std::optional<std::int64_t>& into) {
    if (json_.peek() == base::JsonReader::Type::kNull) {
      json_.skip();
    } else {
      count(into.emplace(0));
    }
  }
  bool moment(base::WallTime& into) {
    std::string text;
    json_.string(text);
    const auto time = base::parse_rfc3339(text);
    if (!time && json_.ok()) json_.fail_here("no time");
    if (time) into = *time;
    return time.has_value();
  }

  void member(std::string_view key) {
    if (key == "schema") {
      json_.integer(schema_);
    } else if (key == "lost") {
      count(lost_);
    } else if (key == "time") {
      timed_ = moment(record_.time);
    } else if (key == "node") {
      json_.string(record_.node);
    } else if (key == "milliseconds") {
      count(milliseconds_);
    } else if (key == "whole") {
      json_.boolean(record_.whole);
    } else if (key == "permit") {
      json_.string(record_.permit);
    } else if (key == "cpus") {
      count(record_.cpus);
    } else if (key == "cpu") {
      counts({{"used", &record_.cpu_milli},
              {"peak", &record_.cpu_peak_milli},
              {"offline", &record_.offline_milli},
              {"offlinePeak", &record_.offline_peak_milli},
              {"limit", &record_.offline_limit_milli}});
    } else if (key == "memory") {
      std::optional<std::int64_t> total;
      counts({{"total", &total}, {"used", &record_.memory_used}, {"offline", &record_.offline_memory}});
      record_.memory_total = total.value_or(0);
    } else if (key == "pressure") {
      counts({{"cpu", &record_.cpu_pressure}, {"memory", &record_.memory_pressure}, {"io", &record_.io_pressure}});
    } else if (key == "disk") {
      counts({{"tasks", &record_.disk_bytes}, {"offline", &record_.offline_disk_bytes}});
    } else if (key == "tasksPressure") {
      json_.boolean(record_.tasks_pressure);
    } else if (key == "classes") {
      json_.array([&] { work_class(record_.classes.emplace_back()); });
    } else if (key == "tasks") {
      json_.array([&] { task(record_.tasks.emplace_back()); });
    } else if (key == "events") {
      json_.array([&] { event(record_.events.emplace_back()); });
    } else {
      json_.skip();
    }
  }

  struct Count {
    std::string_view key;
    std::optional<std::int64_t>* into;
  };
  void counts(std::initializer_list<Count> known) {
    json_.object([&](std::string_view key) {
      for (const Count& each : known) {
        if (each.key == key) return count(*each.into);
      }
      json_.skip();
    });
  }

  struct Text {
    std::string_view key;
    std::string* into;
  };
  bool text(std::string_view key, std::span<const Text> known) {
    for (const Text& each : known) {
      if (each.key != key) continue;
      json_.string(*each.into);
      return true;
    }
    return false;
  }

  void limit(TaskLimit& limit) {
    const Text texts[] = {{"container", &limit.container},
                          {"file", &limit.file},
                          {"value", &limit.value},
                          {"state", &limit.state},
                          {"reason", &limit.reason}};
    json_.object([&](std::string_view key) {
      if (!text(key, texts)) json_.skip();
    });
  }

  void task(TaskRecord& task) {
    struct Number {
      std::string_view key;
      std::int64_t* into;
    };
    const Text texts[] = {{"source", &task.source}, {"namespace", &task.ns}, {"name", &task.name},
                          {"task", &task.task},     {"group", &task.group},  {"class", &task.work_class}};
    const Number numbers[] = {{"cpu", &task.cpu_milli},
                              {"cpuPeak", &task.cpu_peak_milli},
                              {"memory", &task.memory_bytes},
                              {"throttled", &task.throttled_permille},
                              {"cpuPressure", &task.cpu_pressure},
                              {"memoryPressure", &task.memory_pressure},
                              {"ioPressure", &task.io_pressure},
                              {"runQueue", &task.run_queue},
                              {"runQueueWorst", &task.run_queue_worst},
                              {"cpi", &task.cpi},
                              {"limitHits", &task.limit_hits},
                              {"oomKills", &task.oom_kills}};
    json_.object([&](std::string_view key) {
      if (text(key, texts)) return;
      for (const Number& each : numbers) {
        if (each.key == key) return count(*each.into);
      }
      if (key == "offline") {
        json_.boolean(task.offline);
      } else if (key == "ended") {
        json_.boolean(task.ended);
      } else if (key == "limits") {
        json_.array([&] { limit(task.limits.emplace_back()); });
      } else {
        json_.skip();
      }
    });
  }

  void work_class(ClassRecord& of) {
    json_.object([&](std::string_view key) {
      if (key == "class") {
        json_.string(of.name);
      } else if (key == "used") {
        count(of.used_milli);
      } else if (key == "share") {
        count(of.share_milli);
      } else if (key == "satisfaction") {
        count(of.satisfaction_permille);
      } else {
        json_.skip();
      }
    });
  }

  void event(NodeEventRecord& event) {
    json_.object([&](std::string_view key) {
      if (key == "time") {
        moment(event.time);
      } else if (key == "what") {
        json_.string(event.what);
      } else if (key == "process") {
        json_.string(event.process);
      } else if (key == "task") {
        json_.string(event.task);
      } else if (key == "limit") {
        json_.string(event.limit);
      } else {
        json_.skip();
      }
    });
  }

  base::JsonReader json_;
  NodeRecord record_;
  std::int64_t schema_ = 0;
  std::int64_t lost_ = 0;
  std::int64_t milliseconds_ = 0;
  bool timed_ = false;
};

}  // namespace

std::string to_line(const NodeRecord& record) {
  std::string line;
  base::JsonWriter json(line);
  json.begin_object()
      .member("schema", kNodeRecordSchema)
      .member("time", base::format_rfc3339_micro(record.time))
      .member("node", record.node)
      .member("milliseconds", std::int64_t{duration_cast<milliseconds>(record.over).count()});
  if (record.whole) json.member("whole", true);
  json.member("permit", record.permit).member("cpus", record.cpus).key("cpu").begin_object();
  some(json, "used", record.cpu_milli);
  some(json, "peak", record.cpu_peak_milli);
  some(json, "offline", record.offline_milli);
  some(json, "offlinePeak", record.offline_peak_milli);
  some(json, "limit", record.offline_limit_milli);
  json.end_object().key("memory").begin_object().member("total", record.memory_total);
  some(json, "used", record.memory_used);
  some(json, "offline", record.offline_memory);
  json.end_object().key("pressure").begin_object();
  some(json, "cpu", record.cpu_pressure);
  some(json, "memory", record.memory_pressure);
  some(json, "io", record.io_pressure);
  json.end_object();
  if (record.tasks_pressure) json.member("tasksPressure", true);
  json.key("disk").begin_object();
  some(json, "tasks", record.disk_bytes);
  some(json, "offline", record.offline_disk_bytes);
  json.end_object();
  if (!record.classes.empty()) {
    json.key("classes").begin_array();
    for (const ClassRecord& each : record.classes) write(json, each);
    json.end_array();
  }
  json.key("tasks").begin_array();
  for (const TaskRecord& each : record.tasks) write(json, each);
  json.end_array();
  if (!record.events.empty()) {
    json.key("events").begin_array();
    for (const NodeEventRecord& each : record.events) write(json, each);
    json.end_array();
  }
  json.end_object();
  return line;
}

std::string node_record_lost_line(std::uint64_t lines) {
  std::string line;
  base::JsonWriter(line)
      .begin_object()
      .member("schema", kNodeRecordSchema)
      .member("lost", static_cast<std::int64_t>(lines))
      .end_object();
  return line;
}

Result<NodeRecordLine> parse_node_record(std::string_view line) {
  if (line.size() > kNodeRecordLineMax) {
    return fail(ErrorKind::kInvalid, "a record of ", line.size(), " bytes; at most ", kNodeRecordLineMax);
  }
  return Parser(line).parse();
}

}  // namespace tidemark::model

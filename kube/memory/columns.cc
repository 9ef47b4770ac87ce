#include "kube/memory/columns.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "kube/memory/object.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

using base::WallTime;
constexpr std::string_view kNone = "<none>";
constexpr std::string_view kUnknown = "<unknown>";

const std::vector<Column> kPlainColumns = {{"Name", "@name", 0, "string", "name", ""},
                                           {"Age", "@age", 0, "date", "", ""}};

std::int64_t number_at(const Json& object, std::string_view path) {
  const Json* found = at_path(object, path);
  return found == nullptr ? 0 : found->get_int().value_or(0);
}

std::string text_at(const Json& object, std::string_view path, std::string_view otherwise) {
  const Json* found = at_path(object, path);
  if (found == nullptr || found->is_null()) return std::string(otherwise);
  std::string text = found->is_string() ? found->as_string() : found->dump();
  return text.empty() ? std::string(otherwise) : text;
}

const Json::Array& list_at(const Json& object, std::string_view path) {
  static const Json::Array kEmpty;
  const Json* found = at_path(object, path);
  return found != nullptr && found->is_array() ? found->as_array() : kEmpty;
}

std::string since(const Json& object, std::string_view path, WallTime now) {
  const auto then = base::parse_rfc3339(text_at(object, path, ""));
  return then ? human_duration(now - *then) : std::string(kUnknown);
}

std::string joined(const std::vector<std::string>& words, std::string_view otherwise,
                   std::string_view separator = ",") {
  return words.empty() ? std::string(otherwise) : base::join(words, separator);
}

std::string map_text(const Json* map) {
  std::vector<std::string> words;
  if (map != nullptr && map->is_object())
    for (const auto& [key, value] : map->as_object()) words.push_back(cat(key, "=", value.get_string().value_or("")));
  std::sort(words.begin(), words.end());
  return joined(words, kNone);
}

bool has_condition(const Json& object, std::string_view type, std::string_view status = "True") {
  const auto& list = list_at(object, "status.conditions");
  return std::any_of(list.begin(), list.end(),
                     [&](const Json& c) { return c.text_at("type") == type && c.text_at("status") == status; });
}

Json pod_ready(const Json& pod, WallTime) {
  const auto& statuses = list_at(pod, "status.containerStatuses");
  const auto ready = std::count_if(statuses.begin(), statuses.end(), [](const Json& s) {
    return s.at("ready") != nullptr && s.at("ready")->get_bool().value_or(false);
  });
  return cat(ready, "/", list_at(pod, "spec.containers").size());
}

Json pod_status(const Json& pod, WallTime) {
  std::string reason = text_at(pod, "status.reason", text_at(pod, "status.phase", "Unknown"));
  const auto& gates = list_at(pod, "spec.schedulingGates");
  if (!gates.empty() && text_at(pod, "status.phase", "") == "Pending") reason = "SchedulingGated";
  bool starting = false;
  const auto& inits = list_at(pod, "status.initContainerStatuses");
  for (std::size_t i = 0; i < inits.size() && !starting; ++i) {
    const Json* terminated = inits[i].at("state", "terminated");
    if (terminated != nullptr && number_at(*terminated, "exitCode") == 0) continue;
    starting = true;
    const std::string waiting = text_at(inits[i], "state.waiting.reason", "");
    if (terminated != nullptr)
      reason = cat("Init:", text_at(*terminated, "reason", cat("ExitCode:", number_at(*terminated, "exitCode"))));
    else if (!waiting.empty() && waiting != "PodInitializing")
      reason = cat("Init:", waiting);
    else
      reason = cat("Init:", i, "/", list_at(pod, "spec.initContainers").size());
  }
  if (!starting) {
    bool running = false;
    const auto& statuses = list_at(pod, "status.containerStatuses");
    for (auto at = statuses.rbegin(); at != statuses.rend(); ++at) {
      const std::string waiting = text_at(*at, "state.waiting.reason", "");
      const Json* terminated = at->at("state", "terminated");
      if (!waiting.empty())
        reason = waiting;
      else if (terminated != nullptr)
        reason = text_at(*terminated, "reason",
                         number_at(*terminated, "signal") != 0 ? cat("Signal:", number_at(*terminated, "signal"))
                                                               : cat("ExitCode:", number_at(*terminated, "exitCode")));
      else if (at->at("ready") != nullptr && at->at("ready")->get_bool().value_or(false) &&
               at->at("state", "running") != nullptr)
        running = true;
    }
    if (reason == "Completed" && running) reason = has_condition(pod, "Ready") ? "Running" : "NotReady";
  }
  if (!meta_text(pod, "deletionTimestamp").empty() && reason != "Succeeded" && reason != "Failed")
    reason = text_at(pod, "status.reason", "") == "NodeLost" ? "Unknown" : "Terminating";
  return reason;
}

Json pod_restarts(const Json& pod, WallTime now) {
  std::int64_t restarts = 0;
  std::optional<WallTime> last;
  for (const Json& status : list_at(pod, "status.containerStatuses")) {
    restarts += number_at(status, "restartCount");
    const auto finished = base::parse_rfc3339(text_at(status, "lastState.terminated.finishedAt", ""));
    if (finished && (!last || *finished > *last)) last = finished;
  }
  if (restarts > 0 && last) return cat(restarts, " (", human_duration(now - *last), " ago)");
  return cat(restarts);
}

Json pod_gates(const Json& pod, WallTime) {
  const auto& gates = list_at(pod, "spec.readinessGates");
  if (gates.empty()) return kNone;
  const auto good = std::count_if(gates.begin(), gates.end(),
                                  [&](const Json& gate) { return has_condition(pod, gate.text_at("conditionType")); });
  return cat(good, "/", gates.size());
}

Json node_status(const Json& node, WallTime) {
  std::string text = has_condition(node, "Ready")                                                       ? "Ready"
                     : has_condition(node, "Ready", "False") || has_condition(node, "Ready", "Unknown") ? "NotReady"
                                                                                                        : "Unknown";
  const Json* off = at_path(node, "spec.unschedulable");
  if (off != nullptr && off->get_bool().value_or(false)) text += ",SchedulingDisabled";
  return text;
}

Json node_roles(const Json& node, WallTime) {
  std::set<std::string> roles;
  if (const Json* labels = node.at("metadata", "labels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->as_object()) {
      constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
      if (key.starts_with(kPrefix) && key.size() > kPrefix.size())
        roles.insert(key.substr(kPrefix.size()));
      else if (key == "kubernetes.io/role")
        roles.emplace(value.get_string().value_or(""));
    }
  }
  return joined({roles.begin(), roles.end()}, kNone);
}

std::string node_address(const Json& node, std::string_view type) {
  for (const Json& address : list_at(node, "status.addresses"))
    if (address.text_at("type") == type) return std::string(address.text_at("address"));
  return std::string(kNone);
}

Json template_part(const Json& object, const char* member) {
  std::vector<std::string> words;
  const char* path = at_path(object, "spec.jobTemplate") != nullptr ? "spec.jobTemplate.spec.template.spec.containers"
                     : object.at("template") != nullptr             ? "template.spec.containers"
                                                                    : "spec.template.spec.containers";
  for (const Json& container : list_at(object, path)) words.emplace_back(container.text_at(member));
  return joined(words, "");
}

Json selector_text(const Json& object, WallTime) {
  const Json* selector = at_path(object, "spec.selector");
  if (selector == nullptr) return kNone;
  std::vector<std::string> words;
  if (const Json* labels = selector->at("matchLabels"); labels != nullptr && labels->is_object())
    for (const auto& [key, value] : labels->as_object())
      words.push_back(cat(key, "=", value.get_string().value_or("")));
  std::sort(words.begin(), words.end());
  for (const Json& entry : list_at(*selector, "matchExpressions")) {
    std::vector<std::string> values;
    for (const Json& value : list_at(entry, "values")) values.emplace_back(value.get_string().value_or(""));
    const std::string_view op = entry.text_at("operator");
    if (op == "Exists")
      words.emplace_back(entry.text_at("key"));
    else if (op == "DoesNotExist")
      words.push_back(cat("!", entry.text_at("key")));
    else
      words.push_back(cat(entry.text_at("key"), op == "In" ? " in (" : " notin (", base::join(values, ","), ")"));
  }
  return joined(words, kNone);
}

Json data_count(const Json& object, WallTime) {
  std::size_t count = 0;
  for (const char* member : {"data", "binaryData"})
    if (const Json* data = object.at(member); data != nullptr && data->is_object()) count += data->as_object().size();
  return static_cast<std::int64_t>(count);
}

Json service_ports(const Json& service, WallTime) {
  std::vector<std::string> words;
  for (const Json& port : list_at(service, "spec.ports")) {
    const std::int64_t node_port = number_at(port, "nodePort");
    words.push_back(node_port > 0 ? cat(number_at(port, "port"), ":", node_port, "/", port.text_at("protocol"))
                                  : cat(number_at(port, "port"), "/", port.text_at("protocol")));
  }
  return joined(words, kNone);
}

Json endpoints_text(const Json& object, WallTime) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> words;
  std::size_t more = 0;
  for (const Json& subset : list_at(object, "subsets")) {
    for (const Json& address : list_at(subset, "addresses")) {
      for (const Json& port : list_at(subset, "ports")) {
        if (words.size() < kShown)
          words.push_back(cat(address.text_at("ip"), ":", number_at(port, "port")));
        else
          ++more;
      }
    }
  }
  return more == 0 ? joined(words, kNone) : cat(base::join(words, ","), " + ", more, " more...");
}

Json event_last_seen(const Json& event, WallTime now) {
  for (const char* path : {"series.lastObservedTime", "lastTimestamp", "eventTime", "firstTimestamp"})
    if (!text_at(event, path, "").empty()) return since(event, path, now);
  return since(event, "metadata.creationTimestamp", now);
}

Json event_first_seen(const Json& event, WallTime now) {
  for (const char* path : {"firstTimestamp", "eventTime"})
    if (!text_at(event, path, "").empty()) return since(event, path, now);
  return since(event, "metadata.creationTimestamp", now);
}

Json job_status(const Json& job, WallTime) {
  if (has_condition(job, "Complete")) return "Complete";
  if (has_condition(job, "Failed")) return "Failed";
  if (!meta_text(job, "deletionTimestamp").empty()) return "Terminating";
  if (has_condition(job, "Suspended")) return "Suspended";
  return "Running";
}

Json job_duration(const Json& job, WallTime now) {
  const auto start = base::parse_rfc3339(text_at(job, "status.startTime", ""));
  if (!start) return "";
  const auto end = base::parse_rfc3339(text_at(job, "status.completionTime", ""));
  return human_duration(end.value_or(now) - *start);
}

Json access_modes(const Json& object, WallTime) {
  std::vector<std::string> words;
  for (const Json& mode : list_at(object, "spec.accessModes")) {
    const std::string_view text = mode.get_string().value_or("");
    words.emplace_back(text == "ReadWriteOnce"      ? "RWO"
                       : text == "ReadOnlyMany"     ? "ROX"
                       : text == "ReadWriteMany"    ? "RWX"
                       : text == "ReadWriteOncePod" ? "RWOP"
                                                    : text);
  }
  return joined(words, "");
}

using Cell = Json (*)(const Json&, WallTime);
struct CellRow {
  std::string_view name;
  Cell cell;
};

const CellRow kCells[] = {
    {"@name", [](const Json& o, WallTime) { return Json(meta_text(o, "name")); }},
    {"@age", [](const Json& o, WallTime now) { return Json(since(o, "metadata.creationTimestamp", now)); }},
    {"@pod_ready", pod_ready},
    {"@pod_status", pod_status},
    {"@pod_restarts", pod_restarts},
    {"@pod_ip", [](const Json& o, WallTime) { return Json(text_at(o, "status.podIP", kNone)); }},
    {"@pod_node", [](const Json& o, WallTime) { return Json(text_at(o, "spec.nodeName", kNone)); }},
    {"@pod_nominated", [](const Json& o, WallTime) { return Json(text_at(o, "status.nominatedNodeName", kNone)); }},
    {"@pod_gates", pod_gates},
    {"@node_status", node_status},
    {"@node_roles", node_roles},
    {"@node_internal_ip", [](const Json& o, WallTime) { return Json(node_address(o, "InternalIP")); }},
    {"@node_external_ip", [](const Json& o, WallTime) { return Json(node_address(o, "ExternalIP")); }},
    {"@node_os", [](const Json& o, WallTime) { return Json(text_at(o, "status.nodeInfo.osImage", kUnknown)); }},
    {"@node_kernel",
     [](const Json& o, WallTime) { return Json(text_at(o, "status.nodeInfo.kernelVersion", kUnknown)); }},
    {"@node_runtime",
     [](const Json& o, WallTime) { return Json(text_at(o, "status.nodeInfo.containerRuntimeVersion", kUnknown)); }},
    {"@template_containers", [](const Json& o, WallTime) { return template_part(o, "name"); }},
    {"@template_images", [](const Json& o, WallTime) { return template_part(o, "image"); }},
    {"@selector", selector_text},
    {"@service_selector", [](const Json& o, WallTime) { return Json(map_text(at_path(o, "spec.selector"))); }},
    {"@node_selector",
     [](const Json& o, WallTime) { return Json(map_text(at_path(o, "spec.template.spec.nodeSelector"))); }},
    {"@data_count", data_count},
    {"@secrets_count",
     [](const Json& o, WallTime) { return Json(static_cast<std::int64_t>(list_at(o, "secrets").size())); }},
    {"@service_ip", [](const Json& o, WallTime) { return Json(text_at(o, "spec.clusterIP", kNone)); }},
    {"@service_external_ip", [](const Json& o, WallTime) { return Json(text_at(o, "spec.externalName", kNone)); }},
    {"@service_ports", service_ports},
    {"@endpoints", endpoints_text},
    {"@event_last_seen", event_last_seen},
    {"@event_first_seen", event_first_seen},
    {"@event_object",
     [](const Json& o, WallTime) {
       return Json(cat(base::lower(text_at(o, "involvedObject.kind", "")), "/", text_at(o, "involvedObject.name", "")));
     }},
    {"@event_source",
     [](const Json& o, WallTime) {
       const std::string host = text_at(o, "source.host", "");
       const std::string component = text_at(o, "source.component", text_at(o, "reportingComponent", ""));
       return Json(host.empty() ? component : cat(component, ", ", host));
     }},
    {"@event_message", [](const Json& o, WallTime) { return Json(base::trim(text_at(o, "message", ""))); }},
    {"@event_count",
     [](const Json& o, WallTime) {
       return Json(std::max<std::int64_t>({number_at(o, "series.count"), number_at(o, "count"), 1}));
     }},
    {"@deployment_ready",
     [](const Json& o, WallTime) {
       return Json(cat(number_at(o, "status.readyReplicas"), "/", number_at(o, "spec.replicas")));
     }},
    {"@statefulset_ready",
     [](const Json& o, WallTime) {
       return Json(cat(number_at(o, "status.readyReplicas"), "/", number_at(o, "spec.replicas")));
     }},
    {"@job_status", job_status},
    {"@job_completions",
     [](const Json& o, WallTime) {
       const std::int64_t succeeded = number_at(o, "status.succeeded");
       if (at_path(o, "spec.completions") != nullptr)
         return Json(cat(succeeded, "/", number_at(o, "spec.completions")));
       const std::int64_t parallelism = number_at(o, "spec.parallelism");
       return Json(parallelism > 1 ? cat(succeeded, "/1 of ", parallelism) : cat(succeeded, "/1"));
     }},
    {"@job_duration", job_duration},
    {"@cronjob_zone", [](const Json& o, WallTime) { return Json(text_at(o, "spec.timeZone", kNone)); }},
    {"@cronjob_suspend",
     [](const Json& o, WallTime) { return Json(text_at(o, "spec.suspend", "false") == "true" ? "True" : "False"); }},
    {"@cronjob_active",
     [](const Json& o, WallTime) { return Json(static_cast<std::int64_t>(list_at(o, "status.active").size())); }},
    {"@cronjob_last",
     [](const Json& o, WallTime now) {
       return Json(text_at(o, "status.lastScheduleTime", "").empty() ? std::string(kNone)
                                                                     : since(o, "status.lastScheduleTime", now));
     }},
    {"@access_modes", access_modes},
    {"@pv_claim",
     [](const Json& o, WallTime) {
       const std::string name = text_at(o, "spec.claimRef.name", "");
       return Json(name.empty() ? name : cat(text_at(o, "spec.claimRef.namespace", ""), "/", name));
     }},
    {"@pdb_min", [](const Json& o, WallTime) { return Json(text_at(o, "spec.minAvailable", "N/A")); }},
    {"@pdb_max", [](const Json& o, WallTime) { return Json(text_at(o, "spec.maxUnavailable", "N/A")); }},
    {"@role_ref",
     [](const Json& o, WallTime) {
       return Json(cat(text_at(o, "roleRef.kind", ""), "/", text_at(o, "roleRef.name", "")));
     }},
};

Json cell_of(const Column& column, const Json& object, WallTime now) {
  const std::string_view cell = column.cell;
  if (cell.starts_with("@int.")) return number_at(object, cell.substr(5));
  if (cell.starts_with("@bool.")) return text_at(object, cell.substr(6), "false");
  if (cell.starts_with('@')) {
    for (const CellRow& row : kCells)
      if (row.name == cell) return row.cell(object, now);
    return "";
  }
  Json found = json_path(object, cell);
  if (found.is_null()) return Json();
  if (column.type == "date") {
    // kubectl prints what the server sends: a span for custom columns, the time stamp where the built-in table has one.
    const auto then = base::parse_rfc3339(found.get_string().value_or(""));
    if (!then) return kUnknown;
    return column.name == "Created At" ? found : Json(human_duration(now - *then));
  }
  if (column.type == "string" && !found.is_string()) return found.dump();
  return found;
}

}  // namespace

std::string human_duration(base::Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  const auto two = [](std::int64_t big, const char* unit, std::int64_t small, const char* small_unit) {
    return small == 0 ? cat(big, unit) : cat(big, unit, small, small_unit);
  };
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (seconds < 120) return cat(seconds, "s");
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return cat(minutes, "m");
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return cat(hours, "h");
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 730) return cat(days, "d");
  if (days < 8 * 365) return two(days / 365, "y", days % 365, "d");
  return cat(days / 365, "y");
}

Json json_path(const Json& value, std::string_view path) {
  std::vector<const Json*> at = {&value};
  const auto step = [&](const auto& visit) {
    std::vector<const Json*> next;
    for (const Json* held : at) visit(*held, next);
    at = std::move(next);
  };
  while (!path.empty() && !at.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
      std::string key;
      while (!path.empty() && path.front() != '.' && path.front() != '[') {
        if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
        key += path.front();
        path.remove_prefix(1);
      }
      if (key.empty()) continue;
      step([&](const Json& held, auto& next) {
        if (const Json* found = held.member(key)) next.push_back(found);
      });
      continue;
    }
    if (path.front() != '[') return {};
    const std::size_t end = path.find(']');
    if (end == std::string_view::npos) return {};
    std::string_view inner = path.substr(1, end - 1);
    path.remove_prefix(end + 1);
    if (inner == "*") {
      step([&](const Json& held, auto& next) {
        if (held.is_array())
          for (const Json& element : held.as_array()) next.push_back(&element);
        if (held.is_object())
          for (const auto& [key, member] : held.as_object()) next.push_back(&member);
      });
    } else if (inner.starts_with('\'') || inner.starts_with('"')) {
      const std::string key(inner.substr(1, inner.size() - 2));
      step([&](const Json& held, auto& next) {
        if (const Json* found = held.member(key)) next.push_back(found);
      });
    } else if (inner.starts_with("?(@.")) {
      const std::size_t equals = inner.find("==");
      if (equals == std::string_view::npos || !inner.ends_with(')')) return {};
      const std::string key(base::trim(inner.substr(4, equals - 4)));
      std::string_view wanted = base::trim(inner.substr(equals + 2, inner.size() - equals - 3));
      if (wanted.size() >= 2 && (wanted.front() == '"' || wanted.front() == '\''))
        wanted = wanted.substr(1, wanted.size() - 2);
      step([&](const Json& held, auto& next) {
        if (!held.is_array()) return;
        for (const Json& element : held.as_array()) {
          const Json* found = at_path(element, key);
          if (found != nullptr && (found->is_string() ? found->as_string() : found->dump()) == wanted)
            next.push_back(&element);
        }
      });
    } else if (const auto index = base::parse_int(inner)) {
      step([&](const Json& held, auto& next) {
        if (!held.is_array()) return;
        const auto size = static_cast<std::int64_t>(held.as_array().size());
        const std::int64_t i = *index < 0 ? *index + size : *index;
        if (i >= 0 && i < size) next.push_back(&held.as_array()[static_cast<std::size_t>(i)]);
      });
    } else {
      return {};
    }
  }
  if (at.empty()) return {};
  if (at.size() == 1) return *at.front();
  std::vector<std::string> words;
  words.reserve(at.size());
  for (const Json* found : at) words.push_back(found->is_string() ? found->as_string() : found->dump());
  return base::join(words, ",");
}

const std::vector<Column>& columns_of(const KindVersion& version) {
  return version.columns.empty() ? kPlainColumns : version.columns;
}

Json column_definitions(const KindVersion& version) {
  Json::Array list;
  for (const Column& column : columns_of(version))
    list.push_back(Json::object({{"name", column.name},
                                 {"type", column.type},
                                 {"format", column.format},
                                 {"description", column.description},
                                 {"priority", column.priority}}));
  return list;
}

Json cells_of(const KindVersion& version, const Json& object, base::WallTime now) {
  Json::Array cells;
  for (const Column& column : columns_of(version)) cells.push_back(cell_of(column, object, now));
  return cells;
}

}  // namespace tidemark::kube::memory

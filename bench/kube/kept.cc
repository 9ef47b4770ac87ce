#include "kept.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace tidemark::bench {
namespace {

std::string sorted(std::vector<std::string> parts, std::string_view separator) {
  std::sort(parts.begin(), parts.end());
  return base::join(parts, separator);
}

std::string amounts(const kube::ResourceList& list) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : list) parts.push_back(base::cat(name.view(), "=", amount));
  return sorted(std::move(parts), ",");
}

std::string labels(const kube::TextMap& map) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : map) parts.push_back(base::cat(key.view(), "=", value.view()));
  return sorted(std::move(parts), ",");
}

std::string when(const std::optional<base::WallTime>& time) {
  if (!time) return "-";
  return base::cat(std::chrono::duration_cast<std::chrono::seconds>(time->since_epoch).count());
}

std::string containers(const std::vector<kube::Container>& list) {
  std::vector<std::string> parts;
  parts.reserve(list.size());
  for (const auto& c : list) {
    parts.push_back(base::cat(c.name.view(), "{", amounts(c.requests), "}{", amounts(c.limits), "}", c.restart_always));
  }
  return base::join(parts, ";");
}

std::string statuses(const std::vector<kube::ContainerStatus>& list) {
  std::vector<std::string> parts;
  parts.reserve(list.size());
  for (const auto& s : list) {
    parts.push_back(base::cat(s.name.view(), ":", s.restarts, ":", s.ready, ":", s.started, ":", s.init));
  }
  return sorted(std::move(parts), ";");
}

std::string_view truth(kube::Truth value) {
  switch (value) {
    case kube::Truth::kTrue:
      return "True";
    case kube::Truth::kFalse:
      return "False";
    case kube::Truth::kUnknown:
      break;
  }
  return "Unknown";
}

}  // namespace

kube::PodFields kept_fields() {
  kube::PodFields fields;
  fields.meta.labels = kube::KeyFilter::all();
  return fields;
}

std::string kept_line(const kube::Pod& pod) {
  const std::vector<std::string> columns = {
      std::string(pod.meta.ns),
      std::string(pod.meta.name),
      std::string(pod.meta.uid),
      pod.meta.resource_version,
      when(pod.meta.created),
      when(pod.meta.deleted),
      std::string(pod.meta.owner_kind),
      std::string(pod.meta.owner_name),
      labels(pod.meta.labels),
      std::string(pod.node_name),
      std::string(pod.scheduler_name),
      pod.priority ? base::cat(*pod.priority) : "-",
      std::string(model::to_string(pod.phase)),
      pod.qos ? std::string(model::to_string(*pod.qos)) : std::string(),
      std::string(truth(pod.ready)),
      base::cat(pod.host_network),
      containers(pod.containers),
      containers(pod.init_containers),
      amounts(pod.overhead),
      amounts(pod.pod_requests),
      amounts(pod.pod_limits),
      statuses(pod.statuses),
      when(pod.started),
  };
  return base::join(columns, "\t");
}

Result<void> write_kept(const std::string& path, std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return base::fail_errno(errno, base::cat("open ", path));
  bool written = true;
  for (const std::string& line : lines) {
    written = written && std::fwrite(line.data(), 1, line.size(), file) == line.size() && std::fputc('\n', file) != EOF;
  }
  if (std::fclose(file) != 0 || !written) return base::fail_errno(errno, base::cat("write ", path));
  return {};
}

}  // namespace tidemark::bench

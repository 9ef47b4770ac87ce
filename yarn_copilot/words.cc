#include "yarn_copilot/words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "model/quantity.h"

namespace tidemark::yarn_copilot {
namespace {

using base::JsonReader;

constexpr std::int64_t kPeerPriority = 1;  // of every container
constexpr std::size_t kIdBytesMax = 256;

void read_id(JsonReader& json, std::string& out) {
  json.string(out);
  if (json.ok() && out.size() > kIdBytesMax) json.fail_here("a name that is longer than YARN makes them");
}

std::int64_t read_amount(JsonReader& json, int scale) {
  std::string_view raw;
  if (!json.raw(raw)) return 0;
  const auto quantity = model::Quantity::from_json_text(raw);
  if (!quantity) {
    json.fail_here("wanted a quantity like 500m or 2Gi");
    return 0;
  }
  const std::int64_t amount = quantity->scaled_value_saturated(scale);
  if (amount <= 0) json.fail_here("wanted an amount above zero");
  return amount;
}

Result<void> finish(JsonReader& json, std::string_view what, std::string_view unknown) {
  auto end = json.finish();
  if (end) return end;
  if (unknown.empty()) return fail(std::move(end).error().within(what));
  return fail(ErrorKind::kInvalid, what, ": unknown member ", base::in_quotes(unknown));
}

Result<void> check_id(std::string_view what, std::string_view id) {
  if (!id.empty()) return {};
  return fail(ErrorKind::kInvalid, what, ": containerID is missing");
}

void refuse(JsonReader& json, std::string& unknown, std::string_view key) {
  unknown = key.substr(0, kIdBytesMax);
  json.fail_here("an unknown member");
}

void write_time(base::JsonWriter& writer, std::string_view name, std::optional<base::WallTime> time) {
  writer.key(name);
  if (time) {
    writer.value(base::format_rfc3339(*time));
  } else {
    writer.null();
  }
}

void write_number(base::JsonWriter& writer, std::string_view name, std::optional<std::int64_t> number) {
  writer.key(name);
  if (number) {
    writer.value(*number);
  } else {
    writer.null();
  }
}

void write_text(base::JsonWriter& writer, std::string_view name, std::string_view text) {
  writer.key(name);
  if (text.empty()) {
    writer.null();
  } else {
    writer.value(text);
  }
}

void write_application(base::JsonWriter& writer, const std::optional<hadoop::ApplicationReport>& application) {
  const hadoop::ApplicationReport unknown;
  const hadoop::ApplicationReport& said = application ? *application : unknown;
  write_text(writer, "queue", said.queue);
  write_text(writer, "type", said.type);
  write_text(writer, "name", said.name);
  writer.key("tags");
  if (application) {
    writer.begin_array();
    for (const std::string& tag : said.tags) writer.value(std::string_view(tag));
    writer.end_array();
  } else {
    writer.null();
  }
  write_number(writer, "priority", application ? std::optional<std::int64_t>(said.priority) : std::nullopt);
}

}  // namespace

copilot::Container to_container(const SeenContainer& seen, const std::vector<QueueClass>& queues) {
  copilot::Container out;
  out.name = out.uid = seen.said.id;
  out.ns = "yarn";
  if (!seen.said.user.empty()) out.labels.emplace_back(model::kUserLabel, seen.said.user);
  // All other containers of the application end with it.
  if (seen.master()) out.labels.emplace_back(model::kInfrastructureLabel, "true");
  if (seen.application) {
    for (auto& label : work_labels(*seen.application, queues)) out.labels.push_back(std::move(label));
  }
  out.priority = kPeerPriority;
  out.created = seen.began;
  out.group = seen.group;
  out.host_network = true;
  const model::Resources counts = seen.peer_counts(), holds = seen.holds();
  out.requests.native = {.cpu = counts.cpu, .memory = counts.memory};
  if (counts != holds) out.requests.batch = {.cpu = holds.cpu, .memory = holds.memory};
  out.limits = out.requests;
  return out;
}

void write_seen(base::JsonWriter& writer, const SeenContainer& seen, std::optional<base::WallTime> stop,
                std::optional<std::int64_t> local_bytes) {
  writer.begin_object().member("id", seen.said.id).member("state", seen.said.state);
  write_text(writer, "application", seen.yarn ? seen.yarn->application : std::string_view());
  write_text(writer, "attempt", seen.yarn ? seen.yarn->attempt : std::string_view());
  writer.member("master", seen.master());
  write_text(writer, "user", seen.said.user);
  write_application(writer, seen.application);
  writer.member("vcores", seen.said.vcores).member("memoryMiB", seen.said.memory_mib);
  write_time(writer, "began", seen.began);
  write_text(writer, "group", seen.has_group ? seen.group : std::string_view());
  writer.key("use");
  if (seen.use) {
    writer.begin_object().member("processes", seen.use->processes);
    write_number(writer, "cpuNanoseconds", seen.use->cpu_ns);
    write_number(writer, "memoryBytes", seen.use->memory_bytes);
    writer.end_object();
  } else {
    writer.null();
  }
  if (local_bytes) writer.member("localBytes", *local_bytes);
  write_time(writer, "stoppedAt", stop);
  writer.end_object();
}

void write_limits(base::JsonWriter& writer, std::string_view id, const Limits& limits) {
  writer.begin_object().member("containerID", id).key("cpu");
  if (limits.cpu) {
    writer.value(model::Quantity::of_milli(limits.cpu->value).canonical());
  } else {
    writer.null();
  }
  writer.key("memory");
  if (limits.memory) {
    writer.value(model::Quantity::of(limits.memory->value, model::Quantity::Format::kBinarySI).canonical());
  } else {
    writer.null();
  }
  writer.end_object();
}

Result<std::string> read_kill(std::string_view body) {
  std::string id;
  JsonReader json(body);
  json.object([&](std::string_view key) {
    if (key == "containerID") {
      read_id(json, id);
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(finish(json, "kill request", {}));
  TM_TRY_VOID(check_id("kill request", id));
  return id;
}

Result<model::Resources> read_kill_by_resource(std::string_view body) {
  model::Resources wanted;
  std::string unknown;
  JsonReader json(body);
  json.object([&](std::string_view key) {
    if (key != "resources") {
      json.skip();
      return;
    }
    json.object([&](std::string_view name) {
      if (name == "cpu") {
        wanted.cpu.value = read_amount(json, -3);
      } else if (name == "memory") {
        wanted.memory.value = read_amount(json, 0);
      } else {
        refuse(json, unknown, name);  // reject: this resource cannot be counted here
      }
    });
  });
  TM_TRY_VOID(finish(json, "free request", unknown));
  if (wanted == model::Resources()) {
    return fail(ErrorKind::kInvalid, "free request: resources has neither cpu nor memory");
  }
  return wanted;
}

Result<StopOrder> read_stop(std::string_view body) {
  StopOrder out;
  std::string unknown;
  JsonReader json(body);
  json.object([&](std::string_view key) {
    if (key == "containerID") {
      read_id(json, out.id);
    } else if (key == "graceSeconds") {
      constexpr std::int64_t kMost = 3600;
      std::int64_t seconds = 0;
      json.integer(seconds);
      if (json.ok() && (seconds < 0 || seconds > kMost)) json.fail_here("wanted 0 to 3600 seconds");
      out.grace = std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMost));
    } else if (key == "reason") {
      json.string(out.reason);
      const bool plain = std::ranges::none_of(out.reason, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
      if (json.ok() && (out.reason.size() > kReasonBytesMax || !plain)) {
        json.fail_here("wanted one line of at most 200 bytes");
      }
    } else {
      refuse(json, unknown, key);
    }
  });
  TM_TRY_VOID(finish(json, "stop request", unknown));
  TM_TRY_VOID(check_id("stop request", out.id));
  return out;
}

Result<LimitOrder> read_limits(std::string_view body) {
  LimitOrder out;
  std::string unknown;
  JsonReader json(body);
  json.object([&](std::string_view key) {
    if (key == "containerID") {
      read_id(json, out.id);
    } else if (key == "cpu") {
      out.limits.cpu = model::CpuMilli{read_amount(json, -3)};
    } else if (key == "memory") {
      out.limits.memory = model::MemoryBytes{read_amount(json, 0)};
    } else {
      refuse(json, unknown, key);
    }
  });
  TM_TRY_VOID(finish(json, "limit request", unknown));
  TM_TRY_VOID(check_id("limit request", out.id));
  if (!out.limits.cpu && !out.limits.memory) {
    return fail(ErrorKind::kInvalid, "limit request: neither cpu nor memory is set");
  }
  return out;
}

Result<copilot::LimitPermit> read_permit(std::string_view body) {
  std::string word, unknown;
  JsonReader json(body);
  json.object([&](std::string_view key) {
    if (key == "permit") {
      json.string(word);
    } else {
      refuse(json, unknown, key);
    }
  });
  TM_TRY_VOID(finish(json, "permit", unknown));
  const auto out = copilot::parse_limit_permit(word);
  if (out) return *out;
  return fail(ErrorKind::kInvalid, "permit: wanted keep, enforce, restore or off, found ",
              base::in_quotes(std::string_view(word).substr(0, kIdBytesMax)));
}

}  // namespace tidemark::yarn_copilot

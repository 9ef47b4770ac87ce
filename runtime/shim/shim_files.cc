#include "runtime/shim/shim_files.h"

#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::runtime {
namespace {

using base::JsonReader;
using base::JsonWriter;

void texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  json.key(key).begin_array();
  for (const std::string& each : values) json.value(each);
  json.end_array();
}

void some(JsonWriter& json, std::string_view key, const std::optional<std::int64_t>& value) {
  if (value) json.member(key, *value);
}

void read_texts(JsonReader& json, std::vector<std::string>& into) {
  into.clear();
  json.array([&] { json.string(into.emplace_back()); });
}

void read_time(JsonReader& json, base::WallTime& into) {
  std::string text;
  json.string(text);
  const auto time = base::parse_rfc3339(text);
  if (!time && json.ok()) json.fail_here("no time");
  if (time) into = *time;
}

// One object of the schema, its members one by one.
template <class OnMember>
Result<void> read_object(std::string_view text, OnMember&& on_member) {
  JsonReader json(text);
  std::int64_t schema = 0;
  json.object([&](std::string_view key) {
    if (key == "schema") {
      json.integer(schema);
    } else if (!on_member(json, key)) {
      json.skip();
    }
  });
  TM_TRY_VOID(json.finish());
  if (schema != kShimSchema) {
    return fail(ErrorKind::kUnsupported, "schema ", schema, ", and this program reads ", kShimSchema);
  }
  return {};
}

}  // namespace

std::string to_json(const ShimBegin& begin) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("schema", kShimSchema);
  texts(json, "argv", begin.argv);
  texts(json, "environment", begin.environment);
  json.member("workingDir", begin.working_dir).member("root", begin.root);
  some(json, "user", begin.user);
  some(json, "group", begin.group);
  texts(json, "procs", begin.procs);
  texts(json, "shimProcs", begin.shim_procs);
  some(json, "oomScoreAdj", begin.oom_score_adj);
  json.member("alone", begin.alone)
      .member("log", begin.log)
      .member("logBytesMax", begin.log_bytes_max)
      .member("logFilesMax", begin.log_files_max)
      .member("boot", begin.boot)
      .end_object();
  return out + "\n";
}

std::string to_json(const ShimRunning& running) {
  std::string out;
  JsonWriter(out)
      .begin_object()
      .member("schema", kShimSchema)
      .member("pid", std::int64_t{running.pid})
      .member("startTicks", running.start_ticks)
      .member("began", base::format_rfc3339_micro(running.began))
      .end_object();
  return out + "\n";
}

std::string to_json(const ShimEnded& ended) {
  std::string out;
  JsonWriter(out)
      .begin_object()
      .member("schema", kShimSchema)
      .member("exitCode", ended.exit_code)
      .member("signal", ended.signal)
      .member("cannotBegin", ended.cannot_begin)
      .member("began", base::format_rfc3339_micro(ended.began))
      .member("ended", base::format_rfc3339_micro(ended.ended))
      .member("logLost", ended.log_lost)
      .member("withMachine", ended.with_machine)
      .end_object();
  return out + "\n";
}

Result<ShimBegin> parse_begin(std::string_view text) {
  ShimBegin out;
  TM_TRY_VOID(read_object(text, [&](JsonReader& json, std::string_view key) {
    if (key == "argv") return read_texts(json, out.argv), true;
    if (key == "environment") return read_texts(json, out.environment), true;
    if (key == "workingDir") return json.string(out.working_dir), true;
    if (key == "root") return json.string(out.root), true;
    if (key == "user") return json.integer(out.user.emplace(0)), true;
    if (key == "group") return json.integer(out.group.emplace(0)), true;
    if (key == "procs") return read_texts(json, out.procs), true;
    if (key == "shimProcs") return read_texts(json, out.shim_procs), true;
    if (key == "oomScoreAdj") return json.integer(out.oom_score_adj.emplace(0)), true;
    if (key == "alone") return json.boolean(out.alone), true;
    if (key == "log") return json.string(out.log), true;
    if (key == "logBytesMax") return json.integer(out.log_bytes_max), true;
    if (key == "logFilesMax") return json.integer(out.log_files_max), true;
    if (key == "boot") return json.string(out.boot), true;
    return false;
  }));
  if (out.argv.empty()) return fail(ErrorKind::kInvalid, "argv: names no program");
  constexpr std::int64_t kIdMax = std::numeric_limits<std::uint32_t>::max() - 1;
  for (const auto& id : {out.user, out.group}) {
    if (id && (*id < 0 || *id > kIdMax)) return fail(ErrorKind::kInvalid, "invalid user or group ", *id);
  }
  if (out.log_bytes_max < 1 || out.log_files_max < 1) return fail(ErrorKind::kInvalid, "log: bounds below 1");
  return out;
}

Result<ShimRunning> parse_running(std::string_view text) {
  ShimRunning out;
  std::int64_t pid = 0;
  TM_TRY_VOID(read_object(text, [&](JsonReader& json, std::string_view key) {
    if (key == "pid") return json.integer(pid), true;
    if (key == "startTicks") return json.integer(out.start_ticks), true;
    if (key == "began") return read_time(json, out.began), true;
    return false;
  }));
  if (pid < 2 || pid > std::numeric_limits<pid_t>::max()) return fail(ErrorKind::kInvalid, "invalid pid ", pid);
  out.pid = static_cast<pid_t>(pid);
  return out;
}

Result<ShimEnded> parse_ended(std::string_view text) {
  ShimEnded out;
  TM_TRY_VOID(read_object(text, [&](JsonReader& json, std::string_view key) {
    if (key == "exitCode") return json.integer(out.exit_code), true;
    if (key == "signal") return json.integer(out.signal), true;
    if (key == "cannotBegin") return json.string(out.cannot_begin), true;
    if (key == "began") return read_time(json, out.began), true;
    if (key == "ended") return read_time(json, out.ended), true;
    if (key == "logLost") return json.integer(out.log_lost), true;
    if (key == "withMachine") return json.boolean(out.with_machine), true;
    return false;
  }));
  return out;
}

}  // namespace tidemark::runtime

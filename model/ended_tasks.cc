#include "model/ended_tasks.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::model {
namespace {

constexpr std::int64_t kSchema = 1;

std::string_view cut(std::string_view name) {
  return name.substr(0, kEndedTasksNameMax);
}

Result<std::string> short_text_of(const Json& entry, std::string_view key) {
  const Json* text = entry.member(key);
  if (text == nullptr) return std::string();
  if (!text->is_string() || text->as_string().size() > kEndedTasksNameMax) {
    return fail(ErrorKind::kInvalid, key, ": wanted a string of at most ", kEndedTasksNameMax, " bytes");
  }
  return std::string(text->as_string());
}

Result<std::int64_t> count_of(const Json& entry, std::string_view key) {
  const Json* count = entry.member(key);
  if (count == nullptr) return 0;
  if (!count->is_int() || count->as_int() < 0 || count->as_int() > kEndedTasksCountMax) {
    return fail(ErrorKind::kInvalid, key, ": wanted 0 to ", kEndedTasksCountMax, ", found ",
                base::in_quotes(count->dump()));
  }
  return count->as_int();
}

Result<EndedTasks> entry_of(const Json& entry) {
  if (!entry.is_object()) return fail(ErrorKind::kInvalid, "wanted an object, found ", base::in_quotes(entry.dump()));
  EndedTasks read;
  const auto at = base::parse_rfc3339(entry.text_at("at"));
  if (!at) return fail(ErrorKind::kInvalid, "at: wanted a time like 2026-03-01T02:00:00Z");
  read.at = *at;
  TM_TRY(read.work_class, short_text_of(entry, "class"));
  TM_TRY(read.job, short_text_of(entry, "job"));
  TM_TRY(read.evicted, count_of(entry, "evicted"));
  TM_TRY(read.finished, count_of(entry, "finished"));
  return read;
}

}  // namespace

std::string format_ended_tasks(const std::vector<EndedTasks>& ends) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().member("schema", kSchema).key("ends").begin_array();
  for (std::size_t i = ends.size() - std::min(ends.size(), kEndedTasksMax); i < ends.size(); ++i) {
    const EndedTasks& each = ends[i];
    json.begin_object().member("at", base::format_rfc3339_micro(each.at));
    if (!each.work_class.empty()) json.member("class", cut(each.work_class));
    if (!each.job.empty()) json.member("job", cut(each.job));
    if (each.evicted != 0) json.member("evicted", std::min(each.evicted, kEndedTasksCountMax));
    if (each.finished != 0) json.member("finished", std::min(each.finished, kEndedTasksCountMax));
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

Result<std::vector<EndedTasks>> parse_ended_tasks(std::string_view annotation) {
  TM_TRY(const Json root, Json::parse(annotation));
  const Json* schema = root.member("schema");
  if (schema == nullptr || !schema->is_int() || schema->as_int() != kSchema) {
    return fail(ErrorKind::kUnsupported, "schema: wanted ", kSchema, ", found ",
                schema == nullptr ? "none" : base::in_quotes(schema->dump()));
  }
  const Json* list = root.member("ends");
  if (list == nullptr || !list->is_array() || list->as_array().size() > kEndedTasksMax) {
    return fail(ErrorKind::kInvalid, "ends: wanted an array of at most ", kEndedTasksMax);
  }
  std::vector<EndedTasks> read;
  for (const Json& each : list->as_array()) {
    TM_TRY(EndedTasks entry, entry_of(each));
    read.push_back(std::move(entry));
  }
  std::ranges::sort(read, {}, &EndedTasks::at);
  return read;
}

}  // namespace tidemark::model

#include "model/yarn_reclaim.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::model {
namespace {

constexpr std::int64_t kSchema = 1;

// Unknown keys are errors, because their meaning is unknown.
Result<Json> ours(std::string_view annotation, std::initializer_list<std::string_view> known) {
  TM_TRY(Json root, Json::parse(annotation));
  if (!root.is_object()) return fail(ErrorKind::kInvalid, "wanted an object, found ", base::in_quotes(root.dump()));
  const Json* schema = root.member("schema");
  if (schema == nullptr || !schema->is_int() || schema->as_int() != kSchema) {
    return fail(ErrorKind::kUnsupported, "schema: wanted ", kSchema, ", found ",
                schema == nullptr ? "none" : schema->dump());
  }
  for (const auto& [key, value] : root.as_object()) {
    if (key != "schema" && std::ranges::find(known, std::string_view(key)) == known.end()) {
      return fail(ErrorKind::kInvalid, base::in_quotes(key), ": not known");
    }
  }
  return root;
}

Result<std::int64_t> number_of(const Json& root, std::string_view key) {
  const Json* number = root.member(key);
  if (number == nullptr || !number->is_int() || number->as_int() < 0) {
    return fail(ErrorKind::kInvalid, key, ": wanted a whole number, found ",
                number == nullptr ? "none" : base::in_quotes(number->dump()));
  }
  return number->as_int();
}

Result<std::string> text_of(const Json& text, std::string_view key, std::size_t bytes_max) {
  if (!text.is_string() || text.as_string().size() > bytes_max) {
    return fail(ErrorKind::kInvalid, key, ": wanted a string of at most ", bytes_max, " bytes");
  }
  return std::string(text.as_string());
}

Result<std::vector<std::string>> names_of(const Json& root, std::string_view key) {
  const Json* list = root.member(key);
  if (list == nullptr || !list->is_array() || list->as_array().size() > kReclaimContainersMax) {
    return fail(ErrorKind::kInvalid, key, ": wanted an array of at most ", kReclaimContainersMax, " names");
  }
  std::vector<std::string> names;
  for (const Json& each : list->as_array()) {
    TM_TRY(std::string name, text_of(each, key, kContainerNameBytesMax));
    names.push_back(std::move(name));
  }
  return names;
}

Result<base::WallTime> time_of(const Json& root, std::string_view key) {
  const auto time = base::parse_rfc3339(root.text_at(key));
  if (!time) return fail(ErrorKind::kInvalid, key, ": wanted a time like 2026-03-01T02:00:00Z");
  return *time;
}

void write_names(base::JsonWriter& writer, std::string_view key, const std::vector<std::string>& names) {
  writer.key(key).begin_array();
  for (const std::string& each : names) writer.value(each);
  writer.end_array();
}

}  // namespace

std::string format_reclaim_request(const ReclaimRequest& request) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("schema", kSchema).member("generation", request.generation);
  write_names(writer, "containers", request.containers);
  writer.member("reason", request.reason)
      .member("asked", base::format_rfc3339_micro(request.asked))
      .member("graceSeconds", request.grace_seconds)
      .member("holdSeconds", request.hold_seconds)
      .end_object();
  return out;
}

Result<ReclaimRequest> parse_reclaim_request(std::string_view annotation) {
  TM_TRY(const Json root,
         ours(annotation, {"generation", "containers", "reason", "asked", "graceSeconds", "holdSeconds"}));
  ReclaimRequest read;
  TM_TRY(read.generation, number_of(root, "generation"));
  TM_TRY(read.containers, names_of(root, "containers"));
  const Json* reason = root.member("reason");
  if (reason == nullptr) return fail(ErrorKind::kInvalid, "reason: missing");
  TM_TRY(read.reason, text_of(*reason, "reason", kReclaimTextBytesMax));
  TM_TRY(read.asked, time_of(root, "asked"));
  // An agent of the version before this one gives no grace.
  if (root.member("graceSeconds") != nullptr) {
    TM_TRY(read.grace_seconds, number_of(root, "graceSeconds"));
  }
  TM_TRY(read.hold_seconds, number_of(root, "holdSeconds"));
  return read;
}

std::string format_reclaim_answer(const ReclaimAnswer& answer) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("schema", kSchema).member("generation", answer.generation);
  if (answer.refused.empty()) {
    write_names(writer, "gone", answer.gone);
    write_names(writer, "stayed", answer.stayed);
    if (!answer.leaving.empty()) write_names(writer, "leaving", answer.leaving);
  } else {
    writer.member("refused", std::string_view(answer.refused).substr(0, kReclaimTextBytesMax));
  }
  if (answer.keep_mib && answer.until) {
    writer.member("keepMiB", *answer.keep_mib).member("until", base::format_rfc3339_micro(*answer.until));
  }
  writer.end_object();
  return out;
}

Result<ReclaimAnswer> parse_reclaim_answer(std::string_view annotation) {
  TM_TRY(const Json root, ours(annotation, {"generation", "gone", "stayed", "leaving", "refused", "keepMiB", "until"}));
  ReclaimAnswer read;
  TM_TRY(read.generation, number_of(root, "generation"));
  if (const Json* refused = root.member("refused")) {
    TM_TRY(read.refused, text_of(*refused, "refused", kReclaimTextBytesMax));
    if (read.refused.empty()) return fail(ErrorKind::kInvalid, "refused: wanted a reason, found none");
  } else {
    TM_TRY(read.gone, names_of(root, "gone"));
    TM_TRY(read.stayed, names_of(root, "stayed"));
    if (root.member("leaving") != nullptr) {
      TM_TRY(read.leaving, names_of(root, "leaving"));
    }
  }
  if (root.member("keepMiB") != nullptr || root.member("until") != nullptr) {
    TM_TRY(const std::int64_t keep, number_of(root, "keepMiB"));
    read.keep_mib = keep;
    TM_TRY(read.until, time_of(root, "until"));
  }
  return read;
}

}  // namespace tidemark::model

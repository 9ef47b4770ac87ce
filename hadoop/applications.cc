#include "hadoop/applications.h"

#include <array>
#include <limits>

#include "base/text.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

std::string text_of(const WireField& field) {
  return std::string(field.text().substr(0, kApplicationTextBytesMax));
}

// YarnApplicationStateProto, from 1, and FinalApplicationStatusProto, from 0.
constexpr std::array<std::string_view, 9> kStates = {"",        "NEW",      "NEW_SAVING", "SUBMITTED", "ACCEPTED",
                                                     "RUNNING", "FINISHED", "FAILED",     "KILLED"};
constexpr std::array<std::string_view, 5> kFinalStates = {"UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED"};
constexpr std::int64_t kLastUnended = 5;  // RUNNING

template <std::size_t N>
std::string word(const std::array<std::string_view, N>& words, const WireField& field) {
  const auto at = static_cast<std::uint64_t>(field.integer());
  return std::string(at < N ? words[at] : std::string_view());
}

Result<ApplicationId> decode_id(std::string_view bytes) {
  ApplicationId out;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) out.number = field->integer32();
    if (field->number == 2) out.cluster_start_ms = field->integer();
  }
  TM_TRY_VOID(reader.finish("ApplicationIdProto"));
  return out;
}

void write_id(WireWriter& writer, const ApplicationId& id) {
  writer.message(1, [&](WireWriter& inner) { inner.number(1, id.number).number(2, id.cluster_start_ms); });
}

// ApplicationReportProto
Result<ApplicationState> decode_state(std::string_view report, std::string& attempt) {
  constexpr std::uint32_t kId = 1, kState = 8, kDiagnostics = 10, kFinalStatus = 13, kAttempt = 16, kTags = 20;
  ApplicationState out;
  out.final_status = kFinalStates[0];
  WireReader reader(report);
  while (const auto field = reader.next()) {
    if (field->number == kId) {
      TM_TRY(const ApplicationId id, decode_id(field->text()));
      out.id = to_string(id);
    }
    if (field->number == kState) out.state = word(kStates, *field);
    if (field->number == kFinalStatus) out.final_status = word(kFinalStates, *field);
    if (field->number == kDiagnostics) out.diagnostics = field->text().substr(0, kApplicationDiagnosticsMax);
    if (field->number == kAttempt) attempt = field->text();
    if (field->number == kTags && out.tags.size() < kApplicationTagsMax) out.tags.push_back(text_of(*field));
  }
  TM_TRY_VOID(reader.finish("ApplicationReportProto"));
  if (out.id.empty()) return fail(ErrorKind::kInvalid, "ApplicationReportProto: no id");
  return out;
}

// The field of the message in field 1 of the response.
Result<std::string> field_of_first(std::string_view response, std::uint32_t number, std::string_view what) {
  std::string out;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number != 1) continue;
    WireReader report(field->text());
    while (const auto part = report.next()) {
      if (part->number == number) out = part->text();
    }
    TM_TRY_VOID(report.finish(what));
  }
  TM_TRY_VOID(reader.finish(what));
  return out;
}

}  // namespace

std::string to_string(const ApplicationId& id) {
  std::string number = base::cat(id.number);
  if (number.size() < 4) number.insert(0, 4 - number.size(), '0');
  return base::cat("application_", id.cluster_start_ms, "_", number);
}

Result<ApplicationId> decode_get_new_application(std::string_view response) {
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number == 1) return decode_id(field->text());
  }
  TM_TRY_VOID(reader.finish("GetNewApplicationResponseProto"));
  return fail(ErrorKind::kInvalid, "GetNewApplicationResponseProto: no id");
}

std::string encode_kill_application(const ApplicationId& id) {
  std::string out;
  WireWriter writer(out);
  write_id(writer, id);
  return out;
}

std::string encode_get_running_applications(std::string_view tag) {
  std::string out;
  WireWriter writer(out);
  for (std::int64_t state = 1; state <= kLastUnended; ++state) writer.number(2, state);
  writer.bytes(10, tag);
  return out;
}

Result<std::vector<ApplicationState>> decode_get_applications(std::string_view response) {
  std::vector<ApplicationState> out;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number != 1) continue;
    std::string attempt;
    TM_TRY(out.emplace_back(), decode_state(field->text(), attempt));
  }
  TM_TRY_VOID(reader.finish("GetApplicationsResponseProto"));
  return out;
}

Result<ApplicationState> decode_application_state(std::string_view response, std::string& attempt) {
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number == 1) return decode_state(field->text(), attempt);
  }
  TM_TRY_VOID(reader.finish("GetApplicationReportResponseProto"));
  return fail(ErrorKind::kInvalid, "GetApplicationReportResponseProto: no report");
}

std::string encode_get_report_of(std::string_view id) {
  std::string out;
  WireWriter(out).bytes(1, id);
  return out;
}

Result<std::string> decode_master_container(std::string_view response) {
  constexpr std::uint32_t kMasterContainer = 7;
  return field_of_first(response, kMasterContainer, "ApplicationAttemptReportProto");
}

Result<std::string> decode_container_log(std::string_view response) {
  constexpr std::uint32_t kLog = 8;
  return field_of_first(response, kLog, "ContainerReportProto");
}

Result<ApplicationId> parse_application_id(std::string_view text) {
  const auto parts = base::split(text, '_');
  if (parts.size() == 3 && parts[0] == "application") {
    const auto start = base::parse_int(parts[1]);
    const auto number = base::parse_int(parts[2]);
    if (start && number && *start >= 0 && *number >= 0 && *number <= std::numeric_limits<std::int32_t>::max()) {
      return ApplicationId{*start, static_cast<std::int32_t>(*number)};
    }
  }
  return fail(ErrorKind::kInvalid, "wanted application_START_NUMBER, found ", base::in_quotes(text));
}

std::string encode_get_application_report(const ApplicationId& id) {
  std::string out;
  WireWriter(out).message(1, [&](WireWriter& inner) { inner.number(1, id.number).number(2, id.cluster_start_ms); });
  return out;
}

Result<ApplicationReport> decode_get_application_report(std::string_view response) {
  constexpr std::uint32_t kReport = 1;
  constexpr std::uint32_t kUser = 2, kQueue = 3, kName = 4, kType = 18, kTags = 20, kPriority = 23;
  ApplicationReport out;
  bool told = false;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number != kReport) continue;
    told = true;
    WireReader report(field->text());
    while (const auto part = report.next()) {
      if (part->number == kUser) out.user = text_of(*part);
      if (part->number == kQueue) out.queue = text_of(*part);
      if (part->number == kName) out.name = text_of(*part);
      if (part->number == kType) out.type = text_of(*part);
      if (part->number == kTags && out.tags.size() < kApplicationTagsMax) out.tags.push_back(text_of(*part));
      if (part->number != kPriority) continue;
      WireReader priority(part->text());
      while (const auto value = priority.next()) {
        if (value->number == 1) out.priority = value->integer32();
      }
      TM_TRY_VOID(priority.finish("PriorityProto"));
    }
    TM_TRY_VOID(report.finish("ApplicationReportProto"));
  }
  TM_TRY_VOID(reader.finish("GetApplicationReportResponseProto"));
  if (!told) return fail(ErrorKind::kInvalid, "GetApplicationReportResponseProto: no report");
  return out;
}

}  // namespace tidemark::hadoop

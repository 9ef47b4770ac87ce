#include "hadoop/applications.h"

#include <limits>

#include "base/text.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

std::string text_of(const WireField& field) {
  return std::string(field.text().substr(0, kApplicationTextBytesMax));
}

}  // namespace

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

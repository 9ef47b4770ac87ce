#include "hadoop/containers.h"

#include <limits>
#include <span>

#include "base/text.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

constexpr int kEpochShift = 40;
constexpr std::int64_t kNumberMax = (std::int64_t{1} << kEpochShift) - 1;
constexpr std::int64_t kEpochMax = (std::int64_t{1} << (63 - kEpochShift)) - 1;
constexpr std::int64_t kComplete = 3;  // ContainerStateProto: C_COMPLETE

std::optional<std::int64_t> number_of(std::string_view text, std::int64_t most) {
  const auto number = base::parse_int(text);
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

}  // namespace

Result<ContainerId> parse_container_id(std::string_view text) {
  constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
  const auto parts = base::split(text, '_');
  const bool with_epoch = parts.size() == 6 && parts[1].starts_with('e');
  if (!parts.empty() && parts[0] == "container" && (with_epoch || parts.size() == 5)) {
    const auto rest = std::span(parts).last(4);
    const auto epoch = with_epoch ? number_of(parts[1].substr(1), kEpochMax) : std::optional<std::int64_t>(0);
    const auto start = number_of(rest[0], std::numeric_limits<std::int64_t>::max());
    const auto application = number_of(rest[1], kIntMax);
    const auto attempt = number_of(rest[2], kIntMax);
    const auto number = number_of(rest[3], kNumberMax);
    if (epoch && start && application && attempt && number) {
      return ContainerId{{*start, static_cast<std::int32_t>(*application)},
                         static_cast<std::int32_t>(*attempt),
                         *epoch << kEpochShift | *number};
    }
  }
  return fail(ErrorKind::kInvalid, "wanted container_START_APPLICATION_ATTEMPT_NUMBER, found ", base::in_quotes(text));
}

std::string encode_get_container_report(const ContainerId& id) {
  const auto write_application = [&](WireWriter& inner) {
    inner.number(1, id.application.number).number(2, id.application.cluster_start_ms);
  };
  std::string out;
  WireWriter(out).message(1, [&](WireWriter& container) {
    container.message(2, [&](WireWriter& attempt) { attempt.message(1, write_application).number(2, id.attempt); })
        .number(3, id.number);
  });
  return out;
}

Result<ContainerReport> decode_get_container_report(std::string_view response) {
  constexpr std::uint32_t kReport = 1;
  constexpr std::uint32_t kGiven = 2, kNode = 3, kState = 10;
  ContainerReport out;
  bool told = false;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number != kReport) continue;
    WireReader report(field->text());
    while (const auto part = report.next()) {
      if (part->number == kGiven) {
        TM_TRY(out.given, decode_resource(part->text()));
        told = true;
      }
      if (part->number == kNode) {
        TM_TRY(out.node, decode_node_id(part->text()));
      }
      if (part->number == kState) out.complete = part->integer() == kComplete;
    }
    TM_TRY_VOID(report.finish("ContainerReportProto"));
  }
  TM_TRY_VOID(reader.finish("GetContainerReportResponseProto"));
  if (!told) return fail(ErrorKind::kInvalid, "GetContainerReportResponseProto: no resource");
  return out;
}

}  // namespace tidemark::hadoop

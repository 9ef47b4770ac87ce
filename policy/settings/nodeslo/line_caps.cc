#include "policy/settings/nodeslo/line_caps.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/evict/budget/grants.h"

namespace tidemark::policy::settings {
namespace {

constexpr std::string_view kCapsKey = "lines";
constexpr std::string_view kFrom = "from";
constexpr std::int64_t kCapPercentMax = 100;

SloShift lower_of(SloShift a, SloShift b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

// Both of the same strategy, and so with the same thresholds.
std::vector<model::CappedLine> lower_lines(const std::vector<MovedLine>& before, const std::vector<MovedLine>& after) {
  std::vector<model::CappedLine> lower;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].moved < before[i].moved) lower.push_back({std::string(after[i].field), after[i].moved});
  }
  return lower;
}

Result<model::LineCap> read_cap(const Json& said) {
  if (!said.is_object()) return fail(ErrorKind::kInvalid, "wanted an object");
  const auto from = base::parse_rfc3339(said.text_at(kFrom));
  if (!from) return fail(ErrorKind::kInvalid, kFrom, ": wanted a time");
  model::LineCap cap{*from, {}};
  for (const auto& [field, percent] : said.as_object()) {
    if (field == kFrom) continue;
    if (!percent.is_int() || percent.as_int() < 0 || percent.as_int() > kCapPercentMax) {
      return fail(ErrorKind::kInvalid, field, ": wanted 0 to ", kCapPercentMax);
    }
    cap.lines.push_back({std::string(field), percent.as_int()});
  }
  if (cap.lines.size() > kCappedLinesMax) {
    return fail(ErrorKind::kInvalid, "at most ", kCappedLinesMax, " lines, found ", cap.lines.size());
  }
  return cap;
}

}  // namespace

std::vector<model::LineCap> line_caps(const base::JsonObject& strategy, SloShift now,
                                      std::span<const waterline::LineFall> falls) {
  std::vector<model::LineCap> caps;
  SloShift least = now;
  std::vector<MovedLine> before = moved_lines(strategy, now);
  for (const waterline::LineFall& fall : falls) {
    least = lower_of(least, slo_shift(fall.line));
    if (caps.size() + 1 == kLineCapsMax) least = lower_of(least, {});
    std::vector<MovedLine> after = moved_lines(strategy, least);
    auto lower = lower_lines(before, after);
    if (lower.empty()) continue;  // less than a step of a ramp, or beyond the bounds
    caps.push_back({fall.at, std::move(lower)});
    if (caps.size() == kLineCapsMax) break;
    before = std::move(after);
  }
  return caps;
}

void write_line_caps(base::JsonWriter& json, const std::vector<model::LineCap>& caps) {
  json.key(kCapsKey).begin_array();
  for (const model::LineCap& cap : caps) {
    json.begin_object().member(kFrom, base::format_rfc3339(cap.from));
    for (const model::CappedLine& line : cap.lines) json.member(line.field, line.percent);
    json.end_object();
  }
  json.end_array();
}

Result<std::vector<model::LineCap>> read_line_caps(const Json& ours) {
  std::vector<model::LineCap> caps;
  const Json* said = ours.member(kCapsKey);
  if (said == nullptr || said->is_null()) return caps;
  const Json* schema = ours.member("schema");
  const std::int64_t written = schema == nullptr ? 0 : schema->get_int().value_or(0);
  if (written != evict::kGrantSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written, "; this version reads ", evict::kGrantSchema);
  }
  if (!said->is_array()) return fail(ErrorKind::kInvalid, kCapsKey, ": wanted a list");
  if (said->as_array().size() > kLineCapsMax) {
    return fail(ErrorKind::kInvalid, kCapsKey, ": at most ", kLineCapsMax, ", found ", said->as_array().size());
  }
  for (const Json& each : said->as_array()) {
    auto cap = read_cap(each);
    if (!cap) return fail(std::move(cap).error().within(base::cat(kCapsKey, "[", caps.size(), "]")));
    caps.push_back(*std::move(cap));
  }
  return caps;
}

}  // namespace tidemark::policy::settings

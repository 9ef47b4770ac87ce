// Renders the future water line. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "policy/waterline/calendar/preview.h"

namespace tidemark::policy::explain {

struct PreviewView {
  const waterline::Calendar& calendar;  // one without entries if the pool has none
  const waterline::LineOverrides& overrides;
  const std::vector<waterline::PreviewPoint>& points;
};

// The moments at which the line changes, each with its reason.
std::string render_text(const PreviewView& view);
// Every point: {"points":[{"at":…,"local":…,"cpu":{…},"memory":{…}},…],"changes":[…]}
Json render_json(const PreviewView& view);

// Of a calendar whose list of holidays ends soon, or has ended.
std::string holidays_text(const waterline::Calendar& calendar, base::WallTime end);
// "2026-11-21 Sat 22:00", on the clock on the wall of the zone.
std::string local_text(const model::TimeZone& zone, base::WallTime at);
}  // namespace tidemark::policy::explain

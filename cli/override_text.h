// The result of an override, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "operate/override.h"

namespace tidemark::cli {

std::string render_text(const operate::OverrideReport& report);
Json render_json(const operate::OverrideReport& report);

}  // namespace tidemark::cli

// The result of an override, as text.
#pragma once

#include <string>

#include "operate/override.h"

namespace tidemark::cli {

std::string render_text(const operate::OverrideReport& report);

}  // namespace tidemark::cli

// The result of `tidemark uninstall`, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "operate/uninstall.h"

namespace tidemark::cli {

std::string render_text(const operate::UninstallReport& report);
Json render_json(const operate::UninstallReport& report);

}  // namespace tidemark::cli

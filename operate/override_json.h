// The result of an override as JSON: `tidemark override -o json` prints it, and the console answers it.
#pragma once

#include "base/json.h"
#include "operate/override.h"

namespace tidemark::operate {

Json render_json(const OverrideReport& report);

}  // namespace tidemark::operate

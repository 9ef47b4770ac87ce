// The future water line of a pool, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "operate/preview.h"

namespace tidemark::cli {

std::string render_text(const operate::PoolPreview& preview);
Json render_json(const operate::PoolPreview& preview);

}  // namespace tidemark::cli

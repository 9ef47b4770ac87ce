// Bodies of multipart/form-data (RFC 7578): fields and files of one request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::gateway {

struct FormPart {
  std::string name;
  std::string file;        // name of the file; "" for a field
  std::string_view bytes;  // of the body, which outlives this
};

inline constexpr std::size_t kFormPartsMax = 64;

// `content_type` names the boundary. kInvalid for anything else than whole parts.
Result<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body);

}  // namespace tidemark::gateway

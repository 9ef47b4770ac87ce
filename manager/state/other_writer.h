// Who else wrote a part of an object, as its managedFields tell.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace tidemark::manager {

// Said where the server keeps no managedFields of the object.
inline constexpr std::string_view kUnnamedWriter = "an unnamed writer";

// The last writer, other than this program, whose fields (fieldsV1) `concern`: "koord-manager (Update)"; "" if
// unnamed.
std::string other_writer(std::string_view object, const std::function<bool(const Json& fields)>& concern);

}  // namespace tidemark::manager

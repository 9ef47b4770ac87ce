// Who else wrote a part of an object, as its managedFields tell.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace tidemark::manager {

// Said where the server keeps no managedFields of the object.
inline constexpr std::string_view kUnnamedWriter = "an unnamed writer";

// The one who wrote last of those whose fields (fieldsV1) `concern`, and who is not this program:
// "koord-manager (Update)"; "" where nobody is named.
std::string other_writer(std::string_view object, const std::function<bool(const Json& fields)>& concern);

}  // namespace tidemark::manager

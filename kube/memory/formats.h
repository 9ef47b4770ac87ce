// The formats of strings that the real API server holds custom objects to. It knows others by name and lets all pass.
#pragma once

#include <string_view>

namespace tidemark::kube::memory {

// Whether `text` is of the format. Any text is of an unknown one.
bool fits_format(std::string_view format, std::string_view text);

}  // namespace tidemark::kube::memory

// What a ConfigMap holds under one key, as the policies that read settings get it.
#pragma once

#include <optional>
#include <string_view>

namespace tidemark::model {

struct ConfigSource {
  bool found = true;                     // the ConfigMap exists
  std::optional<std::string_view> text;  // nullopt where the key is missing
};

}  // namespace tidemark::model

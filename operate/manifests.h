// Settings as a file would have them: manifests of the ConfigMaps, one document or item each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::operate {

// The data of the manifests; nullopt: the file has none of that name.
struct Manifests {
  using Data = std::map<std::string, std::string>;
  std::optional<Data> slo;
  std::optional<Data> tidemark;
};

// Returns all errors of the file. A document that is neither of the two ConfigMaps is an error.
std::vector<std::string> read_manifests(std::string_view text, std::string_view config_name, Manifests& found);

}  // namespace tidemark::operate

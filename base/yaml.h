// YAML, for people's files: kubeconfigs, manifests, configuration. Read into the same tree as JSON.
//
// Scalars are those of the YAML 1.2 core schema: only true and false are booleans, so that "yes", "on" and "NO" stay
// texts (a field that wants a boolean then refuses them, instead of a text silently turning into one). One thing is
// read as Kubernetes' older reader does, since the other reading would be silently wrong: 0644 is octal. What is quoted
// is always a text. Keys become texts; a key given twice, an unknown tag, .inf and .nan (JSON has no such value) are
// refused. Merge keys (<<) are applied. Every error names line and column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::base {

inline constexpr std::size_t kYamlInputMax = 16 << 20;   // bytes of text
inline constexpr int kYamlDepthMax = 100;                // levels, aliases followed
inline constexpr std::size_t kYamlNodesMax = 1'000'000;  // values, aliases expanded
inline constexpr std::size_t kYamlTextMax = 64 << 20;    // bytes of all texts, aliases expanded

Result<Json> parse_yaml(std::string_view text);  // one document; null where there is none; more are an error
Result<std::vector<Json>> parse_yaml_documents(std::string_view text);  // empty documents are left out

// The members of one mapping with the line each starts in, for errors that name the place.
struct YamlMember {
  std::string key;
  Json value;
  int line = 0;
};
Result<std::vector<YamlMember>> parse_yaml_members(std::string_view text);

// Block style, members in their order, ends with a newline. Texts are quoted wherever any YAML reader, an old one too,
// could take them for something else; parse_yaml(to_yaml(x)) == x.
std::string to_yaml(const Json&);

}  // namespace tidemark::base

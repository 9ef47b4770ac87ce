// The structural schema of a custom kind: checking the schema itself, then pruning, defaulting and validating objects
// by it.
#pragma once

#include <regex.h>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "kube/memory/api_error.h"

namespace tidemark::kube::memory {

class Schema {
 public:
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // An OpenAPI v3 schema object. What is wrong or not supported is added to `causes` with its place under `field`;
  // null when anything was.
  static std::shared_ptr<const Schema> compile(const Json& json, const std::string& field, std::vector<Cause>& causes);

  // Removes members that the schema does not know, and adds their paths to `unknown`.
  void prune(Json& value, std::vector<std::string>& unknown) const;
  void apply_defaults(Json& value) const;
  void validate(const Json& value, std::vector<Cause>& causes) const;
  // The same, below a path: "spec.x".
  void validate_at(const Json& value, const std::string& path, std::vector<Cause>& causes) const;

 private:
  Schema() = default;
  struct Compiler;
  friend struct Compiler;
  void prune_at(Json& value, const std::string& path, bool top, std::vector<std::string>& unknown) const;
  bool accepts_kind(const Json& value) const;
  void validate_text(const std::string& text, const std::string& path, std::vector<Cause>& causes) const;
  void validate_number(const Json& value, const std::string& path, std::vector<Cause>& causes) const;
  void validate_list(const Json& value, const std::string& path, std::vector<Cause>& causes) const;
  void validate_object(const Json& value, const std::string& path, std::vector<Cause>& causes) const;
  void validate_logic(const Json& value, const std::string& path, std::vector<Cause>& causes) const;

  std::string type_;  // "" only with int-or-string, preserve-unknown or inside allOf and its like
  std::string format_;
  bool nullable_ = false;
  bool int_or_string_ = false;
  bool preserve_unknown_ = false;
  bool embedded_resource_ = false;
  std::map<std::string, std::shared_ptr<const Schema>, std::less<>> properties_;
  std::shared_ptr<const Schema> items_;
  std::shared_ptr<const Schema> additional_;
  bool additional_any_ = false;  // additionalProperties: true
  std::vector<std::string> required_;
  std::vector<Json> enum_;
  std::unordered_set<std::string> enum_set_;  // identities of the same
  std::optional<Json> default_;
  std::optional<double> minimum_, maximum_, multiple_of_;
  bool exclusive_minimum_ = false;
  bool exclusive_maximum_ = false;
  std::optional<std::int64_t> min_length_, max_length_, min_items_, max_items_, min_properties_, max_properties_;
  bool unique_items_ = false;
  std::string pattern_;
  std::optional<regex_t> regex_;
  std::string list_type_;
  std::vector<std::string> list_keys_;
  std::vector<std::shared_ptr<const Schema>> all_of_, any_of_, one_of_;
  std::shared_ptr<const Schema> not_;
};

}  // namespace tidemark::kube::memory

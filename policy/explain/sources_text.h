// Renders the sources of an explanation: each object, its revision, and the age of its content. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace tidemark::policy::explain {

struct Source {
  std::string object;                   // "Node web-1", "ConfigMap koordinator-system/slo-controller-config"
  std::string revision;                 // its resourceVersion; "" if it does not exist
  std::optional<base::Duration> age;    // of its content, if that has a time
  std::optional<std::size_t> count;     // of several objects together
  std::string gives;                    // for people
  std::vector<std::string_view> terms;  // by their names in the JSON
  bool recorded = false;                // its content was recorded without its revision
};

std::string render_text(std::span<const Source> sources);
Json render_json(std::span<const Source> sources);

}  // namespace tidemark::policy::explain

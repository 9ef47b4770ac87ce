// Where the terms of an explanation come from: each object that was read, which state of it, and how old what it says
// is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace tidemark::policy {

struct Source {
  std::string object;                   // "Node web-1", "ConfigMap koordinator-system/slo-controller-config"
  std::string revision;                 // its resourceVersion; "" where it does not exist
  std::optional<base::Duration> age;    // of what it says, where it says when that was
  std::optional<std::size_t> count;     // of several objects together
  std::string gives;                    // for people
  std::vector<std::string_view> terms;  // by their names in the JSON
  bool recorded = false;                // what it said was kept, not which revision it was
};

std::string render_text(std::span<const Source> sources);
Json render_json(std::span<const Source> sources);

}  // namespace tidemark::policy

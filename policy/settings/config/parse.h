// The text of `tidemark-config`: schema 1, YAML (which includes JSON) under the one key `config.yaml`.
//
// A text with any problem is rejected as a whole, with all problems at once. docs/guide/settings.md shows every
// setting.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/waterline/calendar/calendar_form.h"
#include "policy/waterline/form.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::settings {

inline constexpr std::int64_t kTidemarkConfigSchema = 1;
inline constexpr std::size_t kTidemarkConfigBytesMax = 256 * 1024;
inline constexpr std::size_t kPoolsMax = 200;

std::expected<waterline::TidemarkConfig, std::vector<waterline::Problem>> parse_tidemark_config(
    std::string_view text, const waterline::Zones& zones);

// The present content of the ConfigMap.
struct TidemarkSource {
  bool found = true;                     // the ConfigMap exists
  std::optional<std::string_view> text;  // nullopt if the key is missing
  std::vector<std::string> other_keys;   // of its data: a wrong name is not the same as no settings
};

// The settings in force, passed back by the caller.
struct TidemarkState {
  std::optional<waterline::TidemarkConfig> config;  // nullopt: never good since the start; decide nothing
  std::optional<std::string> text;                  // that it was read from; nullopt for the drop-in
};

struct TidemarkStep {
  TidemarkState state;
  model::Reason reason;  // kConfigApplied, kConfigDropIn, kConfigKept, kConfigInvalid
  std::string problem;   // for the Warning event and the log; one line for each thing that is wrong
};

// Rejected or missing: the last good settings stay in force, because dropping them would release what they hold back.
// Koordinator's switches apply only if there never were any.
TidemarkStep next_tidemark_config(const TidemarkState& state, const TidemarkSource& source,
                                  const waterline::Zones& zones);

}  // namespace tidemark::policy::settings

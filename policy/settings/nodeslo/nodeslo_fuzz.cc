// Any text is parsed as settings or rejected with a reason; any text may be an object's spec; written text has the
// right fingerprint.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/settings/nodeslo/nodeslo.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  if (size == 0) return 0;
  const auto part = static_cast<tidemark::model::SloPart>(data[0] % tidemark::model::kSloParts);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);

  policy::settings::SloConfig config;
  auto parsed = policy::settings::parse_slo_part(part, text);
  if (parsed) {
    config.parts[static_cast<std::size_t>(part)] = std::move(*parsed);
  } else {
    TM_CHECK(!parsed.error().message.empty(), "a refusal says what is wrong");
  }
  const auto spec = policy::settings::slo_for(config, {}, text);
  const auto json = policy::settings::slo_spec_json(spec);
  TM_CHECK(policy::settings::slo_fingerprint_of_object(json) == policy::settings::slo_fingerprint(spec),
           "what is written is found right");
  TM_CHECK(policy::settings::slo_patch(spec, policy::settings::slo_fingerprint_of_object(json), "1").empty(),
           "and is not written again");

  // A calendar moves thresholds under any settings, and the result has the right fingerprint as well.
  const auto moved = policy::settings::slo_for(config, {}, text, policy::settings::SloShift{35, -40});
  TM_CHECK(policy::settings::slo_fingerprint_of_object(policy::settings::slo_spec_json(moved)) ==
               policy::settings::slo_fingerprint(moved),
           "a moved line is found right");

  // Settings of a node are rejected with a reason, or parse to the same value again from their stored form, and give a
  // spec with the right fingerprint.
  if (const auto own = policy::settings::parse_node_settings(text)) {
    const auto again = policy::settings::parse_node_settings(policy::settings::node_settings_json(*own).dump());
    TM_CHECK(again && *again == *own, "what was good stays good");
    const auto laid = policy::settings::slo_for(config, {}, std::nullopt, std::nullopt, {nullptr, &own->slo});
    TM_CHECK(policy::settings::slo_fingerprint_of_object(policy::settings::slo_spec_json(laid)) ==
                 policy::settings::slo_fingerprint(laid),
             "a node's own settings are found right");
  } else {
    TM_CHECK(!to_string(own.error()).empty(), "a refusal says what is wrong");
  }

  const auto found = policy::settings::slo_fingerprint_of_object(text);
  const auto patch = policy::settings::slo_patch(spec, found, "1");
  auto right = policy::settings::slo_fingerprint(spec);
  right.has_object = found.has_object;
  right.ours = found.ours;  // not managed
  TM_CHECK(patch.empty() == (found == right), "what differs is written");
  return 0;
}

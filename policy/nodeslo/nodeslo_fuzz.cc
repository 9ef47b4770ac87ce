// Any text is parsed as settings or rejected with a reason; any text may be an object's spec; written text has the
// right fingerprint.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/nodeslo/nodeslo.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  if (size == 0) return 0;
  const auto part = static_cast<policy::SloPart>(data[0] % policy::kSloParts);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);

  policy::SloConfig config;
  auto parsed = policy::parse_slo_part(part, text);
  if (parsed) {
    config.parts[static_cast<std::size_t>(part)] = std::move(*parsed);
  } else {
    TM_CHECK(!parsed.error().message.empty(), "a refusal says what is wrong");
  }
  const auto spec = policy::slo_for(config, {}, text);
  const auto json = policy::slo_spec_json(spec);
  TM_CHECK(policy::slo_fingerprint_of_object(json) == policy::slo_fingerprint(spec), "what is written is found right");
  TM_CHECK(policy::slo_patch(spec, policy::slo_fingerprint_of_object(json), "1").empty(), "and is not written again");

  // A calendar moves thresholds under any settings, and the result has the right fingerprint as well.
  const auto moved = policy::slo_for(config, {}, text, policy::SloShift{35, -40});
  TM_CHECK(policy::slo_fingerprint_of_object(policy::slo_spec_json(moved)) == policy::slo_fingerprint(moved),
           "a moved line is found right");

  // Settings of a node are rejected with a reason, or parse to the same value again from their stored form, and give a
  // spec with the right fingerprint.
  if (const auto own = policy::parse_node_settings(text)) {
    const auto again = policy::parse_node_settings(policy::node_settings_json(*own).dump());
    TM_CHECK(again && *again == *own, "what was good stays good");
    const auto laid = policy::slo_for(config, {}, std::nullopt, std::nullopt, {nullptr, &own->slo});
    TM_CHECK(policy::slo_fingerprint_of_object(policy::slo_spec_json(laid)) == policy::slo_fingerprint(laid),
             "a node's own settings are found right");
  } else {
    TM_CHECK(!policy::to_string(own.error()).empty(), "a refusal says what is wrong");
  }

  const auto found = policy::slo_fingerprint_of_object(text);
  const auto patch = policy::slo_patch(spec, found, "1");
  auto right = policy::slo_fingerprint(spec);
  right.has_object = found.has_object;
  right.ours = found.ours;  // not managed
  TM_CHECK(patch.empty() == (found == right), "what differs is written");
  return 0;
}

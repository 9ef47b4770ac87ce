// Any text of any key is accepted or rejected with reasons, within the limits.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "policy/settings/check.h"
#include "policy/settings/fields.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  if (size == 0) return 0;
  const auto documents = policy::settings::settings_documents();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<policy::settings::SettingsKey> after{{documents[data[0] % documents.size()].key, text},
                                                         {"system-config", R"({"clusterStrategy":{}})"}};
  for (const auto parity : {tidemark::model::Profile::kKoordinator, tidemark::model::Profile::kTidemark}) {
    const auto verdict = policy::settings::check_settings({{}, after, {}, data[0] > 127, parity});
    TM_CHECK(verdict.errors.size() <= policy::settings::kSettingsProblemsMax, "bounded");
    for (const auto& problem : verdict.errors)
      TM_CHECK(!problem.key.empty() && !problem.allowed.empty(), "says what is wrong");
  }
  return 0;
}

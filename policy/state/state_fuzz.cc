#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/state/desired.h"
#include "policy/state/overrides.h"
#include "policy/state/state.h"

// The first byte chooses the label, the rest is the detail or the ConfigMap's text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::policy::state;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr base::WallTime kNow{std::chrono::hours(24 * 365 * 56)};
  constexpr std::string_view kLabels[] = {"on", "observe", "draining", "off", "?"};
  const auto reading = read_marks(kLabels[data[0] % 5], text);
  const auto state = label_of(reading.marks, kNow);
  if (reading.trouble == model::Reason::kStateUnreadable) {
    TM_CHECK(state >= tidemark::model::NodeState::kDraining, "who cannot read a mark does not sell by it");
  } else {
    const auto again = read_marks(to_string(state), format_marks(reading.marks, state));
    TM_CHECK(again.marks == reading.marks, "what was read is written as it was");
  }
  const auto advanced = advance(reading.marks, {}, {false, false}, kNow);
  TM_CHECK(advance(advanced.marks, {}, {false, false}, kNow).reasons.empty(), "a second look changes nothing");
  if (const auto desired = parse_desired(text)) {
    TM_CHECK(parse_desired(format_desired(*desired)) == *desired, "what was read is written as it was");
  }
  if (const auto overrides = parse_overrides(text)) {
    TM_CHECK(parse_overrides(format_overrides(*overrides)) == *overrides, "what was read is written as it was");
  }
  return 0;
}

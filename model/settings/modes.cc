#include "model/settings/modes.h"

#include <cstddef>

namespace tidemark::model {

Mode AgentModes::of(Strategy strategy) const {
  return named[static_cast<std::size_t>(strategy)].value_or(otherwise);
}

Mode AgentModes::of_reaction() const {
  const Mode suppression = of(Strategy::kCpuSuppress);
  return suppression == Mode::kObserve ? suppression : reaction.value_or(suppression);
}

std::string_view to_string(Mode mode) {
  return mode == Mode::kObserve ? "observe" : "enforce";
}

}  // namespace tidemark::model

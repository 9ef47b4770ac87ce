// Whose rules hold where the peer's own are not safe. The numbers of an ordinary node are the same in both.
#pragma once

#include <cstdint>

namespace tidemark::policy {

enum class Profile : std::uint8_t {
  kKoordinator,  // the peer's numbers to the unit, its traps included
  kTidemark,     // the safe thing instead of each trap (README.md lists them); the plan tells what was at work
};

}  // namespace tidemark::policy

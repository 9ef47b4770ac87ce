// Which rules apply if Koordinator's are not safe. The numbers of an ordinary node are the same in both.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidemark::model {

enum class Profile : std::uint8_t {
  kKoordinator,  // Koordinator's exact numbers, including its traps
  kTidemark,     // a safe rule instead of each trap (README.md lists them); the plan names those that applied
};
std::string_view to_string(Profile);

}  // namespace tidemark::model

// The parts of a YARN container's name: container_[e<epoch>_]<cluster start>_<application>_<attempt>_<number>.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::copilot {

struct YarnId {
  std::string application;  // application_1700000000000_0001
  std::string attempt;      // appattempt_1700000000000_0001_000001
  std::int64_t number = 0;  // of the container in its attempt
  // An attempt begins with its master.
  bool master() const { return number == 1; }
};
std::optional<YarnId> parse_yarn_container(std::string_view name);

}  // namespace tidemark::copilot

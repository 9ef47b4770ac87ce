// One end of a connection in a test: records its events.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/connection.h"

namespace tidemark::net::testing {

class Endpoint {
 public:
  Endpoint() = default;
  explicit Endpoint(std::unique_ptr<Connection> connection) { attach(std::move(connection)); }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void attach(std::unique_ptr<Connection> made) {
    connection = std::move(made);
    connection->set_callbacks({
        [this](std::string_view bytes) {
          got.append(bytes);
          return !on_data || on_data(bytes);
        },
        [this] {
          ++drained;
          if (on_drained) on_drained();
        },
        [this](std::optional<Error> why) {
          ++ends;
          error = std::move(why);
          if (on_end) on_end();
        },
    });
  }

  std::unique_ptr<Connection> connection;
  std::string got;
  int drained = 0;
  int ends = 0;
  std::optional<Error> error;
  std::function<bool(std::string_view)> on_data;
  std::function<void()> on_drained;
  std::function<void()> on_end;
};

}  // namespace tidemark::net::testing

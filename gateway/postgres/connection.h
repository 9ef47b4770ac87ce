// One connection to PostgreSQL, by libpq. Its calls block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemark::gateway::postgres {

using Value = std::optional<std::string>;  // nullopt: NULL

struct Rows {
  std::vector<std::vector<std::string>> rows;  // NULL is ""
  std::int64_t changed = 0;                    // by an INSERT, UPDATE or DELETE
};

class Connection {
 public:
  // `where` as libpq reads it: "host=db dbname=tidemark", or a URL.
  static Result<std::unique_ptr<Connection>> open(const std::string& where);
  virtual ~Connection() = default;

  // Parameters are $1, $2, … kUnavailable: no connection, or another transaction was in the way; try again.
  virtual Result<Rows> run(const std::string& sql, const std::vector<Value>& values = {}) = 0;
  virtual Result<void> connect_again() = 0;  // if the connection is lost
  virtual bool in_transaction() const = 0;
  virtual std::int64_t connects() const = 0;  // how often it connected
};

}  // namespace tidemark::gateway::postgres

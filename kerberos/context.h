// One connection's side of GSSAPI, by MIT's library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "kerberos/tickets.h"

namespace tidemark::kerberos {

struct Step {
  std::string token;
  bool complete = false;
};
struct Opened {
  std::string bytes;
  bool confidential = false;
};

class Context {
 public:
  // Principal of the server, "rm/host.example@EXAMPLE". No KDC is contacted yet.
  static Result<std::unique_ptr<Context>> make(std::shared_ptr<const Tickets> tickets, const std::string& server);
  virtual ~Context() = default;

  // The first step gets the server's ticket, from a KDC or the cache; the others do not wait.
  virtual Result<Step> step(const std::string& token) = 0;
  virtual Result<std::string> wrap(const std::string& bytes, bool confidential) = 0;
  virtual Result<Opened> unwrap(const std::string& token) = 0;
  virtual Result<std::uint32_t> wrap_max(std::uint32_t token_max, bool confidential) = 0;
};

}  // namespace tidemark::kerberos

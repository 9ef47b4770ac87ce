// Interface to Kerberos: tickets and security contexts. Asynchronous. The real implementation is in kerberos/, which
// only tidemark-hadoop links.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/loop.h"

namespace tidemark::hadoop {

struct GssStep {
  std::string token;      // for the server; may be empty
  bool complete = false;  // both sides are authenticated
};

struct GssOpened {
  std::string bytes;
  bool confidential = false;
};

// One connection's. Answers of wrap and unwrap come in the order in which they were asked for: the server counts.
class GssContext {
 public:
  virtual ~GssContext() = default;
  virtual net::Task<Result<GssStep>> step(std::string token) = 0;  // "" for the first
  virtual net::Task<Result<std::string>> wrap(std::string bytes, bool confidential) = 0;
  virtual net::Task<Result<GssOpened>> unwrap(std::string token) = 0;
  // The most bytes that make a token of at most `token_max`.
  virtual net::Task<Result<std::uint32_t>> wrap_max(std::uint32_t token_max, bool confidential) = 0;
};

class Gss {
 public:
  virtual ~Gss() = default;
  // Our principal, "tidemark@EXAMPLE", once tickets exist.
  virtual net::Task<Result<std::string>> own_principal(base::Duration limit) = 0;
  // Host name of an address (reverse lookup); the address itself if it has none.
  virtual net::Task<Result<std::string>> canonical_name(std::string address) = 0;
  virtual std::unique_ptr<GssContext> context(std::string server_principal) = 0;
};

// The side of a server: who a client is, by its token.
class GssAcceptor {
 public:
  struct Accepted {
    std::string principal;  // "ann@EXAMPLE.COM"
    std::string token;      // for the client; may be empty
  };
  virtual ~GssAcceptor() = default;
  // kDenied: the token is not valid here.
  virtual net::Task<Result<Accepted>> accept(std::string token) = 0;
};

using MakeGss = std::function<std::shared_ptr<Gss>(net::EventLoop& loop)>;

}  // namespace tidemark::hadoop

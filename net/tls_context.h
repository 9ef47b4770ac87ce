// OpenSSL contexts that follow their files. Internal to net/: connection.h only declares the two classes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/tls.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace tidemark::net {

// A context made from files, made again when they changed. Files that do not fit each other (a certificate that is
// already new, its key not yet) leave the old context in place; the next second looks again.
class FollowingContext {
 public:
  using Made = Result<std::shared_ptr<ssl_ctx_st>>;
  static constexpr base::Duration kLookInterval = std::chrono::seconds(1);

  FollowingContext(std::vector<std::string> files, const base::Clock& clock, std::function<Made()> make);
  Result<void> begin();  // the first make

  // Makes it if begin() was not called; null if it cannot.
  std::shared_ptr<ssl_ctx_st> current();
  // Another number for each context that current() has given.
  std::uint64_t generation() const { return generation_; }
  void put(std::shared_ptr<ssl_ctx_st> context) {
    context_ = std::move(context);
    ++generation_;
  }
  // Why the files as they are now are not used; "" where they are.
  const std::string& problem() const { return problem_; }
  const base::Clock& clock() const { return clock_; }

 private:
  struct Stamp {
    unsigned long device = 0;
    unsigned long inode = 0;
    long size = -1;  // no such file
    long modified_s = 0;
    long modified_ns = 0;
    long changed_s = 0;
    long changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  std::vector<Stamp> look() const;

  std::vector<std::string> files_;
  const base::Clock& clock_;
  std::function<Made()> make_;
  std::shared_ptr<ssl_ctx_st> context_;
  std::uint64_t generation_ = 0;
  std::vector<Stamp> seen_;
  base::MonotonicTime looked_;
  std::string problem_;
};

class TlsClientContext {
 public:
  TlsClientContext(TlsClientConfig config, const base::Clock& clock);
  const TlsClientConfig& config() const { return config_; }
  FollowingContext& context() { return context_; }

 private:
  TlsClientConfig config_;
  FollowingContext context_;
};

class TlsServerContext {
 public:
  TlsServerContext(TlsServerConfig config, const base::Clock& clock);
  const TlsServerConfig& config() const { return config_; }
  FollowingContext& context() { return context_; }
  // From the next connection on. What cannot be used is refused, and the old material stays. Texts only.
  Result<void> use(std::string certificate_pem, std::string key_pem);

 private:
  TlsServerConfig config_;
  FollowingContext context_;
};

}  // namespace tidemark::net

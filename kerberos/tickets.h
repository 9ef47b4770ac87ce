// Our tickets: from a keytab into a private cache of this process, or from the cache of the user that started us. Calls
// wait for a KDC as long as the library does: make them on a worker, always the same one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hadoop/kerberos.h"

namespace tidemark::kerberos {

// Tickets of one login. The cache is destroyed with its last user.
class Tickets {
 public:
  Tickets(std::string cache, std::string principal, std::int64_t begin_s, std::int64_t end_s)
      : cache_(std::move(cache)), principal_(std::move(principal)), begin_s_(begin_s), end_s_(end_s) {}
  ~Tickets();
  Tickets(const Tickets&) = delete;
  Tickets& operator=(const Tickets&) = delete;

  const std::string& cache() const { return cache_; }  // "": the default one, which is not ours
  const std::string& principal() const { return principal_; }
  std::int64_t begin_s() const { return begin_s_; }  // since 1970, as the KDC says
  std::int64_t end_s() const { return end_s_; }
  bool holds_at(base::WallTime now) const { return now.since_epoch < std::chrono::seconds(end_s_); }

 private:
  std::string cache_;
  std::string principal_;
  std::int64_t begin_s_;
  std::int64_t end_s_;
};

// An error gives what was expected, what was found, and a hint.
Result<std::shared_ptr<const Tickets>> log_in(const hadoop::KerberosOptions& options);

// Replaces _HOST by this machine's name.
std::string with_own_host(const std::string& principal);

// The host as Hadoop requires it in a principal: the name of the address, if that name resolves to the address; else
// the address.
std::string canonical_name_of(const std::string& ip);

}  // namespace tidemark::kerberos

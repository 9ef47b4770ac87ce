// Kerberos through a child process, `tidemark-kerberos`: it has the library and the tickets, logs in again from the
// keytab before they expire, and makes each token. Started when first needed, and again with a growing pause if it is
// lost; contexts end with their process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/flags.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "hadoop/gss.h"
#include "hadoop/kerberos_messages.h"
#include "net/connection.h"
#include "net/loop.h"

namespace tidemark::hadoop {

// Our identity, for servers that require one.
struct KerberosOptions {
  std::string keytab;     // file; "": the ticket cache of the user that started us
  std::string principal;  // "": the keytab's only one, or the cache's
  std::string helper;     // file of the program; "": tidemark-kerberos beside this one
};
void declare_kerberos_flags(base::Flags& flags, KerberosOptions& options);
inline constexpr std::string_view kHelperName = "tidemark-kerberos";

// The child process. The destructor ends it.
class HelperProcess {
 public:
  virtual ~HelperProcess() = default;
  // When its end of the stream is closed: "exit code 127", "signal 9"; "" if unknown soon.
  virtual net::Task<std::string> how_it_ended() = 0;
};
struct StartedHelper {
  Fd stream;
  std::unique_ptr<HelperProcess> process;
};
using StartHelper = std::function<Result<StartedHelper>()>;

class Kerberos : public Gss {
 public:
  struct Config {
    // Requests time out after this. The process may still be busy: a library that looks for a KDC takes its time.
    base::Duration answer_limit = std::chrono::seconds(20);
    // Of what it answers at once. One that does not is frozen, and is replaced.
    base::Duration at_once_limit = std::chrono::seconds(5);
    base::BackoffConfig restart = {.initial = std::chrono::milliseconds(200), .max = std::chrono::seconds(30)};
    base::Registry* metrics = nullptr;  // outlives it; nullptr: no metric of the ticket's lifetime
  };
  Kerberos(net::EventLoop& loop, base::Log log, StartHelper start, Config config, base::Random random);
  ~Kerberos() override;
  Kerberos(const Kerberos&) = delete;
  Kerberos& operator=(const Kerberos&) = delete;

  net::Task<Result<std::string>> own_principal(base::Duration limit) override;
  net::Task<Result<std::string>> canonical_name(std::string address) override;
  std::unique_ptr<GssContext> context(std::string server_principal) override;

  std::uint64_t starts() const { return starts_; }

 private:
  class Context;
  using Waiting = net::OneShot<Result<HelperAnswer>>;

  net::Task<Result<HelperAnswer>> ask(HelperRequest request, std::optional<std::uint64_t> of_start,
                                      base::Duration limit);
  net::Task<Result<HelperAnswer>> ask_this_one(HelperRequest request, base::Duration limit);
  net::Task<void> ping();
  Result<void> running();
  bool on_data(std::string_view bytes);
  void on_note(const HelperAnswer& note);
  void lost(std::string why, bool by_itself);
  struct Lost {
    std::shared_ptr<HelperProcess> process;
    std::string why;
    std::uint64_t last_request;  // up to which it was asked
    bool greeted;
    bool by_itself;  // it ended; else we do not want it any more
    base::Duration wait;
  };
  net::Task<void> tell_how_it_ended(Lost lost);

  net::EventLoop& loop_;
  base::Log log_;
  StartHelper start_;
  const Config config_;
  base::Backoff backoff_;
  std::shared_ptr<HelperProcess> process_;
  std::unique_ptr<net::Connection> stream_;
  FrameReader frames_;
  std::map<std::uint64_t, Waiting*> on_their_way_;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_context_ = 0;
  std::uint64_t starts_ = 0;
  base::Gauge* ticket_ends_ = nullptr;  // all three, or none
  base::Counter* logins_ = nullptr;
  base::Counter* failed_logins_ = nullptr;
  bool greeted_ = false;
  bool pinging_ = false;
  std::optional<Error> why_not_;
  base::MonotonicTime not_before_;
  net::Scope scope_;
};

}  // namespace tidemark::hadoop

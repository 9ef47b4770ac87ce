// Leader election by a coordination.k8s.io Lease, compatible with client-go's (same fields, same meaning).
//
// Time is boot time: a machine that slept does not think its lease is fresh. A leader stops by itself when it could not
// renew for renew_deadline, which is before another replica may take over (lease_duration after the last renewal that
// the others saw); every request has a deadline below lease_duration − renew_deadline, so that none of ours lands after
// that.
//
// leading() is a question to the clock, not a remembered answer: ask it right before each write. That still leaves the
// gap between the question and the write (a stopped process), so every capacity write also carries the epoch as a
// precondition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/silence.h"
#include "net/loop.h"

namespace tidemark::kube {

struct LeaderConfig {
  std::string ns = "koordinator-system";
  std::string name;
  std::string identity;
  base::Duration lease_duration = std::chrono::seconds(15);
  base::Duration renew_deadline = std::chrono::seconds(10);
  base::Duration retry_period = std::chrono::seconds(2);
};

class LeaderElector {
 public:
  // A config whose times contradict each other is kInvalid.
  static Result<std::unique_ptr<LeaderElector>> make(net::EventLoop& loop, Reader& reader, Writer& writer,
                                                     base::Log log, base::Registry& metrics, base::Random random,
                                                     LeaderConfig config);
  virtual ~LeaderElector() = default;

  virtual net::Task<void> run() = 0;       // until release(): acquire, renew, lose, acquire again
  virtual bool leading() const = 0;        // now, by the clock
  virtual std::int64_t epoch() const = 0;  // the lease's transitions when we took it; grows with every take-over
  // Something of ours carries the epoch `seen`, above our own: the lease was made anew, or has another name now. If it
  // is still ours at the next renewal, that takes an epoch above `seen`.
  virtual void raise_epoch(std::int64_t seen) = 0;
  // How long the lease could be neither renewed nor read because the server did not answer or accept the write; counts
  // only times above renew_deadline.
  virtual Unheard unheard() const = 0;
  virtual void on_change(std::function<void(bool leading)> listener) = 0;
  // Writes this annotation with each renewal, so that it costs no request of its own. `key` outlives the elector.
  virtual void annotate(std::string_view key, std::function<std::string()> value) = 0;
  // Gives the lease back at once (empty holder), so that a successor need not wait. For an orderly stop.
  virtual net::Task<void> release() = 0;
};

}  // namespace tidemark::kube

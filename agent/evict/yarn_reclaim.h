// Lets YARN preempt containers, so that their applications count no failure: sends a request to YARN's operator through
// the agent's own Node (model/yarn_reclaim.h), and waits for the answer there.
//
// Requests within kGather are sent together. Unanswered ones are sent again with the next request. With a grace the
// operator first answers that the container is leaving, and again when it is gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "model/reason.h"
#include "model/yarn_reclaim.h"
#include "net/loop.h"

namespace tidemark::agent {

// Of the first answer. Shorter than policy::kUnreachableFor, including the kill that follows.
inline constexpr base::Duration kReclaimLimit = std::chrono::seconds(3);
// Of the last answer, after the grace. With the limit above shorter than policy::kUnanswered.
inline constexpr base::Duration kReclaimEndLimit = std::chrono::seconds(4);
// After an operator did not answer, it is not asked for this long.
inline constexpr base::Duration kNotHeardFor = std::chrono::minutes(1);
// For this long YARN gets nothing new in place of the preempted containers.
inline constexpr base::Duration kHoldBack = std::chrono::minutes(1);
inline constexpr base::Duration kHoldBackMax = std::chrono::minutes(5);  // the limit of the operator

enum class YarnReclaimOutcome : std::uint8_t {
  kGone,      // the ResourceManager has ended it: the rest may be killed without harm
  kStayed,    // another one was preempted instead, or none
  kRefused,   // nothing was done
  kNotHeard,  // no answer in time
};

class YarnReclaim {
 public:
  YarnReclaim(net::EventLoop& loop, kube::Writer& writer, base::Log log, std::string node_name,
              base::Duration hold_back = kHoldBack);

  void use_node(const kube::Node& node);  // the current one from the API server

  // Whether an operator answers, as far as known.
  bool heard() const;
  net::Task<YarnReclaimOutcome> ask(std::string container, model::Reason why, base::Duration grace);

 private:
  struct Waiting {
    explicit Waiting(net::EventLoop& loop) : told(loop) {}
    std::int64_t generation = 0;  // of its first request; 0: not yet
    std::optional<YarnReclaimOutcome> outcome;
    bool leaving = false;
    net::Event told;  // leaving, or the outcome
    int askers = 0;
  };
  net::Task<void> write();
  void hear(const model::ReclaimAnswer& answer);
  static void tell(Waiting& waiting, YarnReclaimOutcome outcome);
  net::Task<void> wait(Waiting& waiting, base::Duration grace);

  net::EventLoop& loop_;
  kube::Writer& writer_;
  base::Log log_;
  const std::string node_name_;
  const base::Duration hold_back_;
  std::optional<model::ReclaimAnswer> answer_;  // nullopt: no operator has answered
  std::string answer_text_;
  std::int64_t generation_ = 0;                              // the largest that the node carries or that we wrote
  std::map<std::string, std::shared_ptr<Waiting>> waiting_;  // by container
  model::Reason why_ = model::Reason::kEvictMemoryLine;
  base::Duration grace_{0};
  bool writing_ = false;
  std::optional<base::MonotonicTime> not_heard_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent

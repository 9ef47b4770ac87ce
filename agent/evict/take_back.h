// Has YARN's containers end as pre-empted, so that their applications count no failure: asks YARN's operator, by the
// agent's own Node (model/take_back.h), and awaits its answer there.
//
// What is wanted within kGather is asked together. Who is not answered goes with the next question as well.
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
#include "model/take_back.h"
#include "net/loop.h"

namespace tidemark::agent {

// Within policy::kNobodyThere, with the kill that then follows.
inline constexpr base::Duration kTakeBackLimit = std::chrono::seconds(3);
// An operator that did not answer is not waited for again so long.
inline constexpr base::Duration kNotHeardFor = std::chrono::minutes(1);
// So long YARN gets nothing new in the place of what it gave back.
inline constexpr base::Duration kHoldBack = std::chrono::minutes(1);
inline constexpr base::Duration kHoldBackMax = std::chrono::minutes(5);  // as the operator believes

enum class TakeBackOutcome : std::uint8_t {
  kGone,      // the ResourceManager has ended it: what is left of it may be killed without harm
  kStayed,    // another one went in its place, or none
  kRefused,   // nothing was done
  kNotHeard,  // nobody answered in time
};

class TakeBack {
 public:
  TakeBack(net::EventLoop& loop, kube::Writer& writer, base::Log log, std::string node_name,
           base::Duration hold_back = kHoldBack);

  void use_node(const kube::Node& node);  // as the API server has it now

  // Whether somebody answers, as far as is known.
  bool heard() const;
  net::Task<TakeBackOutcome> ask(std::string container, model::Reason why);

 private:
  struct Waiting {
    explicit Waiting(net::EventLoop& loop) : told(loop) {}
    std::int64_t generation = 0;  // in which it was asked first; 0: not yet
    std::optional<TakeBackOutcome> outcome;
    net::Event told;
    int askers = 0;
  };
  net::Task<void> write();
  void hear(const model::TakenBack& answer);
  static void tell(Waiting& waiting, TakeBackOutcome outcome);

  net::EventLoop& loop_;
  kube::Writer& writer_;
  base::Log log_;
  const std::string node_name_;
  const base::Duration hold_back_;
  std::optional<model::TakenBack> answer_;  // nullopt: no operator says that it hears
  std::string answer_text_;
  std::int64_t generation_ = 0;                              // the largest that the node carries, or we wrote
  std::map<std::string, std::shared_ptr<Waiting>> waiting_;  // by container
  model::Reason why_ = model::Reason::kEvictMemoryLine;
  bool writing_ = false;
  std::optional<base::MonotonicTime> not_heard_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent

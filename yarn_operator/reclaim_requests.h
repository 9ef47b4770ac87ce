// Reclaim requests and answers: from the nodes, plus the operator's own recent answers that the watch has not delivered
// yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "kube/objects.h"
#include "model/yarn_reclaim.h"

namespace tidemark::yarn_operator {

struct HeldBack {
  std::int64_t keep_mib = 0;  // most that YARN may use of the node,
  base::WallTime until;       // until then
};
// nullopt: none, or expired. An answer with too long a time is ignored.
std::optional<HeldBack> held_back(const model::ReclaimAnswer& answer, base::WallTime now);

// A reclaim request and its age. If we saw it arrive, the age comes from our monotonic clock, independent of the node's
// clock. If it existed at our first pass, the age comes from both wall clocks; it is negative if the node's clock is
// ahead.
struct OpenRequest {
  model::ReclaimRequest request;
  base::Duration age{};
};

class ReclaimRequests {
 public:
  explicit ReclaimRequests(base::Log log) : log_(std::move(log)) {}

  // nullopt: none, or it has an answer. An unreadable one is logged once.
  std::optional<OpenRequest> open_request(const kube::Node& node, const base::Clock& clock);
  // The most that YARN may use of the node now.
  std::optional<std::int64_t> keep_mib(const kube::Node& node, base::WallTime now) const;
  void answered(const std::string& node, const model::ReclaimAnswer& answer) { answers_[node] = {answer}; }
  // The answer did not reach the node and must be written again.
  void lost(const std::string& node, std::int64_t generation);
  std::optional<model::ReclaimAnswer> lost_answer(
      const kube::Node& node) const;  // nullopt: none, or the node has it now

  template <class IsGone>
  void forget(IsGone&& is_gone) {
    std::erase_if(answers_, is_gone);
    std::erase_if(said_, is_gone);
    std::erase_if(looked_, is_gone);
  }

 private:
  struct Looked {
    std::int64_t generation = 0;            // of the request; 0: none
    std::optional<base::MonotonicTime> at;  // arrival; nullopt: already there at the first pass, or in a gap
    base::MonotonicTime seen;               // last pass
  };
  struct Given {
    model::ReclaimAnswer answer;
    bool lost = false;
  };
  std::optional<model::ReclaimAnswer> answer_of(const kube::Node& node) const;
  const Looked& look(const std::string& node, std::int64_t generation, base::MonotonicTime now);

  base::Log log_;
  std::map<std::string, Given> answers_;     // by node
  std::map<std::string, std::string> said_;  // by node: error of its request
  std::map<std::string, Looked> looked_;     // by node
};

}  // namespace tidemark::yarn_operator

// What the operator knows of containers that are taken back: as nodes say it, and what it answered a moment ago and the
// watch has not brought yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "kube/objects.h"
#include "model/take_back.h"

namespace tidemark::yarn_operator {

struct HeldBack {
  std::int64_t keep_mib = 0;  // the most that YARN is handed out of the node,
  base::WallTime until;       // until then
};
// nullopt: nothing, or no longer. One that was written for longer than may be is not believed.
std::optional<HeldBack> held_back(const model::TakenBack& answer, base::WallTime now);

// What a node wants back, and how long ago it was asked: by our own watch where we saw it come, whatever the node's
// clock says; else, of one that was there when we looked first, by both clocks, which is below zero where its own is
// ahead.
struct OpenRequest {
  model::TakeBack request;
  base::Duration age{};
};

class TakeBackBook {
 public:
  explicit TakeBackBook(base::Log log) : log_(std::move(log)) {}

  // nullopt: none, or it is answered. One that cannot be read is said once.
  std::optional<OpenRequest> open_request(const kube::Node& node, const base::Clock& clock);
  // The most that YARN is handed out of the node now.
  std::optional<std::int64_t> keep_mib(const kube::Node& node, base::WallTime now) const;
  void answered(const std::string& node, const model::TakenBack& answer) { answers_[node] = {answer}; }
  // What was answered did not come to the node: it is to be written again.
  void lost(const std::string& node, std::int64_t generation);
  std::optional<model::TakenBack> lost_answer(const kube::Node& node) const;  // nullopt: none, or the node has it now

  template <class IsGone>
  void forget(IsGone&& is_gone) {
    std::erase_if(answers_, is_gone);
    std::erase_if(said_, is_gone);
    std::erase_if(looked_, is_gone);
  }

 private:
  struct Looked {
    std::int64_t generation = 0;            // of the request that was there; 0: none was
    std::optional<base::MonotonicTime> at;  // when it came; nullopt: it was there at the first look, or nobody looked
    base::MonotonicTime seen;               // the last look
  };
  struct Given {
    model::TakenBack answer;
    bool lost = false;
  };
  std::optional<model::TakenBack> answer_of(const kube::Node& node) const;
  const Looked& look(const std::string& node, std::int64_t generation, base::MonotonicTime now);

  base::Log log_;
  std::map<std::string, Given> answers_;     // by node
  std::map<std::string, std::string> said_;  // by node: why its request cannot be read
  std::map<std::string, Looked> looked_;     // by node
};

}  // namespace tidemark::yarn_operator

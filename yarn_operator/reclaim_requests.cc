#include "yarn_operator/reclaim_requests.h"

#include <algorithm>
#include <utility>

#include "yarn_operator/agent_reclaims.h"

namespace tidemark::yarn_operator {
namespace {

// Longest interval between two passes of a leader. A request that came in a longer gap may be old.
constexpr base::Duration kLookGap = std::chrono::minutes(1);

std::optional<model::ReclaimAnswer> answer_on(const kube::Node& node) {
  const kube::Text* text = node.meta.annotations.find(model::kYarnReclaimAnswerAnnotation);
  if (text == nullptr) return std::nullopt;
  auto written = model::parse_reclaim_answer(text->view());
  return written ? std::optional(*std::move(written)) : std::nullopt;
}

bool is_newer(const model::ReclaimAnswer& given, const std::optional<model::ReclaimAnswer>& written) {
  if (!written || given.generation != written->generation) {
    return !written || given.generation > written->generation;
  }
  return given.leaving.empty() && !written->leaving.empty();  // the last answer follows
}

}  // namespace

std::optional<HeldBack> held_back(const model::ReclaimAnswer& answer, base::WallTime now) {
  if (!answer.keep_mib || !answer.until) return std::nullopt;
  if (*answer.until <= now || *answer.until > now + kKeepMax) return std::nullopt;
  return HeldBack{*answer.keep_mib, *answer.until};
}

std::optional<model::ReclaimAnswer> ReclaimRequests::answer_of(const kube::Node& node) const {
  auto answer = answer_on(node);
  const auto given = answers_.find(std::string(node.meta.name));
  if (given == answers_.end()) return answer;
  return is_newer(given->second.answer, answer) ? std::optional(given->second.answer) : answer;
}

void ReclaimRequests::lost(const std::string& node, std::int64_t generation) {
  const auto given = answers_.find(node);
  if (given != answers_.end() && given->second.answer.generation == generation) given->second.lost = true;
}

std::optional<model::ReclaimAnswer> ReclaimRequests::lost_answer(const kube::Node& node) const {
  const auto given = answers_.find(std::string(node.meta.name));
  if (given == answers_.end() || !given->second.lost) return std::nullopt;
  return is_newer(given->second.answer, answer_on(node)) ? std::optional(given->second.answer) : std::nullopt;
}

const ReclaimRequests::Looked& ReclaimRequests::look(const std::string& node, std::int64_t generation,
                                                     base::MonotonicTime now) {
  const auto [known, first] = looked_.try_emplace(node, Looked{generation, std::nullopt, now});
  Looked& looked = known->second;
  if (!first && looked.generation != generation) {
    looked.generation = generation;
    looked.at = now - looked.seen <= kLookGap ? std::optional(now) : std::nullopt;
  }
  looked.seen = now;
  return looked;
}

std::optional<OpenRequest> ReclaimRequests::open_request(const kube::Node& node, const base::Clock& clock) {
  const std::string name(node.meta.name);
  const base::MonotonicTime now = clock.monotonic();
  const kube::Text* text = node.meta.annotations.find(model::kYarnReclaimAnnotation);
  if (text == nullptr) {
    look(name, 0, now);
    return std::nullopt;
  }
  auto request = model::parse_reclaim_request(text->view());
  if (!request) {
    std::string& said = said_[name];
    if (std::exchange(said, request.error().message) != request.error().message) {
      log_.warn("cannot read reclaim request of node", {{"node", name}, {"why", request.error().message}});
    }
    return std::nullopt;
  }
  said_.erase(name);
  const Looked& looked = look(name, request->generation, now);
  const auto answer = answer_of(node);
  // An operator that stopped within the grace left its request open.
  const bool open = !answer || answer->generation < request->generation ||
                    (answer->generation == request->generation && !answer->leaving.empty());
  if (!open) return std::nullopt;
  const base::Duration age = looked.at ? now - *looked.at : clock.wall() - request->asked;
  return OpenRequest{*std::move(request), age};
}

std::optional<std::int64_t> ReclaimRequests::keep_mib(const kube::Node& node, base::WallTime now) const {
  const auto answer = answer_of(node);
  const auto held = answer ? held_back(*answer, now) : std::nullopt;
  return held ? std::optional(held->keep_mib) : std::nullopt;
}

}  // namespace tidemark::yarn_operator

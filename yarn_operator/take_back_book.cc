#include "yarn_operator/take_back_book.h"

#include <algorithm>
#include <utility>

#include "yarn_operator/take_back.h"

namespace tidemark::yarn_operator {
namespace {

// Nobody who leads looks less often. What came while nobody looked may have come long ago.
constexpr base::Duration kLookGap = std::chrono::minutes(1);

}  // namespace

std::optional<HeldBack> held_back(const model::TakenBack& answer, base::WallTime now) {
  if (!answer.keep_mib || !answer.until) return std::nullopt;
  if (*answer.until <= now || *answer.until > now + kKeepMax) return std::nullopt;
  return HeldBack{*answer.keep_mib, *answer.until};
}

std::optional<model::TakenBack> TakeBackBook::answer_of(const kube::Node& node) const {
  std::optional<model::TakenBack> answer;
  if (const kube::Text* text = node.meta.annotations.find(model::kYarnTakenBackAnnotation)) {
    if (auto written = model::parse_taken_back(text->view())) answer = *std::move(written);
  }
  const auto given = answers_.find(std::string(node.meta.name));
  if (given != answers_.end() && (!answer || given->second.generation > answer->generation)) answer = given->second;
  return answer;
}

const TakeBackBook::Looked& TakeBackBook::look(const std::string& node, std::int64_t generation,
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

std::optional<OpenRequest> TakeBackBook::open_request(const kube::Node& node, const base::Clock& clock) {
  const std::string name(node.meta.name);
  const base::MonotonicTime now = clock.monotonic();
  const kube::Text* text = node.meta.annotations.find(model::kYarnTakeBackAnnotation);
  if (text == nullptr) {
    look(name, 0, now);
    return std::nullopt;
  }
  auto request = model::parse_take_back(text->view());
  if (!request) {
    std::string& said = said_[name];
    if (std::exchange(said, request.error().message) != request.error().message) {
      log_.warn("what a node wants back cannot be read", {{"node", name}, {"why", request.error().message}});
    }
    return std::nullopt;
  }
  said_.erase(name);
  const Looked& looked = look(name, request->generation, now);
  const auto answer = answer_of(node);
  if (answer && answer->generation >= request->generation) return std::nullopt;
  const base::Duration age = looked.at ? now - *looked.at : clock.wall() - request->asked;
  return OpenRequest{*std::move(request), age};
}

std::optional<std::int64_t> TakeBackBook::keep_mib(const kube::Node& node, base::WallTime now) const {
  const auto answer = answer_of(node);
  const auto held = answer ? held_back(*answer, now) : std::nullopt;
  return held ? std::optional(held->keep_mib) : std::nullopt;
}

}  // namespace tidemark::yarn_operator

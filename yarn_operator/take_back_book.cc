#include "yarn_operator/take_back_book.h"

#include <algorithm>
#include <utility>

#include "yarn_operator/take_back.h"

namespace tidemark::yarn_operator {

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

std::optional<model::TakeBack> TakeBackBook::open_request(const kube::Node& node) {
  const std::string name(node.meta.name);
  const kube::Text* text = node.meta.annotations.find(model::kYarnTakeBackAnnotation);
  if (text == nullptr) return std::nullopt;
  auto request = model::parse_take_back(text->view());
  if (!request) {
    std::string& said = said_[name];
    if (std::exchange(said, request.error().message) != request.error().message) {
      log_.warn("what a node wants back cannot be read", {{"node", name}, {"why", request.error().message}});
    }
    return std::nullopt;
  }
  said_.erase(name);
  const auto answer = answer_of(node);
  if (answer && answer->generation >= request->generation) return std::nullopt;
  return *std::move(request);
}

std::optional<std::int64_t> TakeBackBook::keep_mib(const kube::Node& node, base::WallTime now) const {
  const auto answer = answer_of(node);
  const auto held = answer ? held_back(*answer, now) : std::nullopt;
  return held ? std::optional(held->keep_mib) : std::nullopt;
}

}  // namespace tidemark::yarn_operator

#include "yarn_operator/node_words.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "model/yarn_reclaim.h"
#include "yarn_operator/node_map.h"

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

struct Texts {
  std::optional<std::string> held;  // to set
  std::optional<std::string> book;
  std::optional<std::string> book_of;
  std::optional<std::string> renewed;
  bool drop_book = false;
  std::optional<std::string> reclaim_answer;
  bool drop_reclaim_answer = false;
  std::optional<std::string> preempted;  // "": remove it

  bool none() const { return !renewed && says_nothing(); }
  bool only_renewed() const { return renewed && says_nothing(); }
  bool says_nothing() const {
    return !held && !book && !book_of && !drop_book && !reclaim_answer && !drop_reclaim_answer && !preempted;
  }
};

std::optional<model::YarnBook> book_on(const kube::Node& node) {
  const kube::Text* text = node.meta.annotations.find(model::kYarnBookAnnotation);
  if (text == nullptr) return std::nullopt;
  auto book = model::parse_yarn_book(text->view());
  return book ? std::optional(std::move(*book)) : std::nullopt;
}

void write_body(const kube::Node& node, const Texts& texts, std::string& body) {
  base::JsonWriter json(body);
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", node.meta.resource_version);
  json.key("annotations").begin_object();
  if (texts.held) json.member(model::kThirdPartyAllocationsAnnotation, *texts.held);
  if (texts.book) json.member(model::kYarnBookAnnotation, *texts.book);
  if (texts.book_of) json.member(kYarnBookOfAnnotation, *texts.book_of);
  if (texts.renewed) json.member(model::kYarnBookRenewedAnnotation, *texts.renewed);
  if (texts.drop_book) {
    json.key(model::kYarnBookAnnotation).null();
    json.key(kYarnBookOfAnnotation).null();
    json.key(model::kYarnBookRenewedAnnotation).null();
  }
  if (texts.reclaim_answer) json.member(model::kYarnReclaimAnswerAnnotation, *texts.reclaim_answer);
  if (texts.drop_reclaim_answer) json.key(model::kYarnReclaimAnswerAnnotation).null();
  if (texts.preempted && texts.preempted->empty()) {
    json.key(model::kYarnPreemptedAnnotation).null();
  } else if (texts.preempted) {
    json.member(model::kYarnPreemptedAnnotation, *texts.preempted);
  }
  json.end_object().end_object().end_object();
}

}  // namespace

model::Resources held_as_written(const kube::Node& node) {
  const auto written =
      model::parse_third_party_allocations(node.meta.annotations.get(model::kThirdPartyAllocationsAnnotation));
  if (!written) return {};
  for (const model::ThirdPartyAllocation& each : *written) {
    if (each.name == model::kYarnThirdParty) return each.resources;
  }
  return {};
}

std::optional<NodeWrite> node_write(const kube::Node& node, const NodeSight& sight, base::WallTime now) {
  NodeWrite write;
  Texts texts;
  Json before = Json::object({});
  const auto changes = [&](std::string_view key, std::string_view to) {
    const std::string_view is = node.meta.annotations.get(key);
    if (is == to) return false;
    if (!is.empty()) before[key] = Json(is);
    return true;
  };
  if (sight.held) {
    std::string text = model::with_third_party_allocation(
        node.meta.annotations.get(model::kThirdPartyAllocationsAnnotation), model::kYarnThirdParty, *sight.held);
    if (changes(model::kThirdPartyAllocationsAnnotation, text)) texts.held = std::move(text);
  }
  if (sight.book == NodeSight::Book::kWrite) {
    BookInput input = sight.of_book;
    input.before = book_on(node);
    input.held = sight.held;
    if (const auto book = next_book(input)) {
      std::string text = model::format_yarn_book(*book);
      if (changes(model::kYarnBookAnnotation, text)) {
        const bool in_force = !input.before || input.before->generation != book->generation;
        if (in_force) write.turn = Turn::kUrgent;
        if (in_force || input.before->confirmed != book->confirmed) write.reason = Reason::kYarnConfirmed;
        texts.book = std::move(text);
      } else if (book->waiting && sight.renew_due) {
        texts.renewed = base::format_rfc3339(now);
      }
      if (!sight.nm.empty() && changes(kYarnBookOfAnnotation, sight.nm)) texts.book_of = sight.nm;
    }
  } else if (sight.book == NodeSight::Book::kRemove) {
    const bool whose = changes(kYarnBookOfAnnotation, "");
    texts.drop_book = changes(model::kYarnBookAnnotation, "") || whose;
    if (texts.drop_book) write.reason = Reason::kYarnConfirmed;
  }
  if (sight.hears) {
    const kube::Text* answer = node.meta.annotations.find(model::kYarnReclaimAnswerAnnotation);
    texts.drop_reclaim_answer = !*sight.hears && answer != nullptr;
    if (*sight.hears && sight.lost_answer) {
      texts.reclaim_answer = model::format_reclaim_answer(*sight.lost_answer);
      write.turn = Turn::kUrgent;
    } else if (*sight.hears && (answer == nullptr || !model::parse_reclaim_answer(answer->view()))) {
      texts.reclaim_answer = model::format_reclaim_answer({});
    }
  }
  if (sight.preempted && changes(model::kYarnPreemptedAnnotation, *sight.preempted)) {
    texts.preempted = sight.preempted;
    write.turn = Turn::kUrgent;  // the pool's hour counts it only when it is written
    write.reason = Reason::kYarnReclaimed;
  }
  if (texts.none()) return std::nullopt;
  if (texts.only_renewed()) write.turn = Turn::kRenewal;
  write_body(node, texts, write.body);
  if (!before.as_object().empty()) write.before = before.dump();
  return write;
}

}  // namespace tidemark::yarn_operator

#include "manager/capacity/yarn_offer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/names.h"
#include "policy/evict/drain.h"

namespace tidemark::manager {
namespace {

std::optional<model::YarnOffer> yarn_offer_on(const kube::Node& node) {
  const auto* text = node.meta.annotations.find(model::kYarnOfferAnnotation);
  if (text == nullptr) return std::nullopt;
  auto offer = model::parse_yarn_offer(text->view());
  return offer ? std::optional(std::move(*offer)) : std::nullopt;
}

// The largest that the node carries, in our offer or in the operator's book.
std::int64_t yarn_generation(const kube::Node& node) {
  std::int64_t largest = 0;
  if (const auto* text = node.meta.annotations.find(model::kYarnOfferAnnotation)) {
    if (const auto offer = model::parse_yarn_offer(text->view())) largest = offer->generation;
  }
  if (const auto* text = node.meta.annotations.find(model::kYarnBookAnnotation)) {
    if (const auto book = model::parse_yarn_book(text->view())) largest = std::max(largest, book->generation);
  }
  return largest;
}

model::ExtendedResources as_extended(const model::Resources& amounts) {
  return {amounts.cpu, amounts.memory, {}, {}};
}

// The offer that the node carries, as it is once all of it is known; nullopt: it says so already.
std::optional<model::YarnOffer> settled_yarn_offer(const kube::Node& node) {
  const auto* offer_text = node.meta.annotations.find(model::kYarnOfferAnnotation);
  const auto* book_text = node.meta.annotations.find(model::kYarnBookAnnotation);
  if (offer_text == nullptr || book_text == nullptr) return std::nullopt;
  const auto offer = model::parse_yarn_offer(offer_text->view());
  const auto book = model::parse_yarn_book(book_text->view());
  if (!offer || !book) return std::nullopt;
  const auto settled = policy::sell::settled_offer(*book, *offer);
  if (!settled) return std::nullopt;
  return policy::sell::needs_cut_write(as_extended(offer->up_to), as_extended(settled->up_to)).write ? settled
                                                                                                     : std::nullopt;
}

}  // namespace

policy::sell::WriteDecision yarn_needs_write(const kube::Node& node, const NodeDecision& decision) {
  if (decision.plan().action == policy::sell::PlanAction::kHold) return {};
  const auto* text = node.meta.annotations.find(model::kYarnOfferAnnotation);
  if (!decision.yarn_offer) {
    if (text == nullptr) return {};
    return {true, model::Reason::kWriteDisappears};
  }
  const auto told = yarn_offer_on(node);
  if (!told) return {true, model::Reason::kWriteAppears};
  if (policy::sell::worth_telling(told->reclaim, policy::sell::told(decision.yarn_reclaim))) {
    return {true, model::Reason::kLedgerReclaim};
  }
  if (policy::evict::drain_in_force(told->drain_by, decision.basis.now) != decision.yarn_drain) {
    return {true, model::Reason::kLineDraining};
  }
  const auto cut = policy::sell::needs_cut_write(as_extended(told->offer), as_extended(*decision.yarn_offer));
  if (cut.write) return cut;
  if (told->offer == *decision.yarn_offer && settled_yarn_offer(node)) return {true, model::Reason::kWriteCut};
  return policy::sell::needs_write(as_extended(told->offer), as_extended(*decision.yarn_offer), base::Duration(0),
                                   decision.strategy().values);
}

bool yarn_loses(const kube::Node& node, const NodeDecision& decision) {
  const auto write = yarn_needs_write(node, decision);
  return write.write &&
         (write.reason == model::Reason::kWriteDisappears || write.reason == model::Reason::kLedgerReclaim ||
          write.reason == model::Reason::kLineDraining || write.reason == model::Reason::kWriteCut);
}

void tell_yarn(const kube::Node& node, const NodeDecision& decision, bool amounts, base::WallTime now,
               CapacityWrite& write) {
  using policy::sell::AnnotationAction;
  const auto told = yarn_offer_on(node);
  auto reclaim = policy::sell::told(decision.yarn_reclaim);
  if (!decision.yarn_offer) {
    if (amounts && node.meta.annotations.has(model::kYarnOfferAnnotation))
      write.yarn_action = AnnotationAction::kRemove;
    return;
  }
  if (told && *decision.yarn_offer == told->offer && !policy::sell::worth_telling(told->reclaim, reclaim) &&
      policy::evict::drain_in_force(told->drain_by, decision.basis.now) == decision.yarn_drain) {
    // The same offer keeps its generation, so no new confirmation is needed.
    if (const auto offer = settled_yarn_offer(node)) {
      write.yarn_action = AnnotationAction::kSet;
      write.yarn_offer = *offer;
    }
    return;
  }
  write.yarn_action = AnnotationAction::kSet;
  write.yarn_offer =
      policy::sell::next_offer(decision.basis.yarn.book, *decision.yarn_offer, yarn_generation(node), now);
  write.yarn_offer.reclaim = std::move(reclaim);
  write.yarn_offer.drain_by = decision.yarn_drain;
}

}  // namespace tidemark::manager

#include "agent/evict/yarn_reclaim.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/annotation_patch.h"
#include "model/generation.h"
#include "policy/state/order.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kGather = std::chrono::milliseconds(5);

}  // namespace

YarnReclaim::YarnReclaim(net::EventLoop& loop, kube::Writer& writer, base::Log log, std::string node_name,
                         base::Duration hold_back)
    : loop_(loop),
      writer_(writer),
      log_(std::move(log)),
      node_name_(std::move(node_name)),
      hold_back_(hold_back),
      scope_(loop) {}

void YarnReclaim::use_node(const kube::Node& node) {
  if (const kube::Text* text = node.meta.annotations.find(model::kYarnReclaimAnnotation)) {
    if (const auto asked = model::parse_reclaim_request(text->view())) {
      generation_ = std::max(generation_, asked->generation);
    }
  }
  const kube::Text* text = node.meta.annotations.find(model::kYarnReclaimAnswerAnnotation);
  if (text == nullptr) {
    answer_.reset();
    answer_text_.clear();
    return;
  }
  if (answer_text_ == text->view()) return;
  answer_text_ = text->view();
  auto answer = model::parse_reclaim_answer(text->view());
  if (!answer) {
    answer_.reset();
    log_.warn("cannot read the answer of YARN's operator", {{"error", answer.error().message}});
    return;
  }
  answer_ = *std::move(answer);
  generation_ = std::max(generation_, answer_->generation);
  not_heard_.reset();
  hear(*answer_);
}

bool YarnReclaim::heard() const {
  if (!answer_) return false;
  return !not_heard_ || loop_.clock().monotonic() - *not_heard_ >= kNotHeardFor;
}

void YarnReclaim::tell(Waiting& waiting, YarnReclaimOutcome outcome) {
  waiting.outcome = outcome;
  waiting.told.set();
}

void YarnReclaim::hear(const model::ReclaimAnswer& answer) {
  for (const auto& [container, waiting] : waiting_) {
    if (waiting->generation == 0 || waiting->generation > answer.generation) continue;
    const auto is_in = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, container) != names.end();
    };
    if (is_in(answer.gone)) {
      tell(*waiting, YarnReclaimOutcome::kGone);
    } else if (is_in(answer.stayed)) {
      tell(*waiting, YarnReclaimOutcome::kStayed);
    } else if (is_in(answer.leaving)) {
      waiting->leaving = true;
      waiting->told.set();
    } else if (!answer.refused.empty()) {
      tell(*waiting, YarnReclaimOutcome::kRefused);
    }
  }
}

net::Task<void> YarnReclaim::wait(Waiting& waiting, base::Duration grace) {
  const base::MonotonicTime begin = loop_.clock().monotonic();
  co_await waiting.told.wait_for(kReclaimLimit);
  const base::MonotonicTime end = begin + kReclaimLimit + grace + kReclaimEndLimit;
  while (waiting.leaving && !waiting.outcome && loop_.clock().monotonic() < end) {
    waiting.told.clear();
    co_await waiting.told.wait_for(end - loop_.clock().monotonic());
  }
}

net::Task<YarnReclaimOutcome> YarnReclaim::ask(std::string container, model::Reason why, base::Duration grace) {
  if (container.size() > model::kContainerNameBytesMax) co_return YarnReclaimOutcome::kRefused;
  std::shared_ptr<Waiting>& place = waiting_[container];
  if (!place) place = std::make_shared<Waiting>(loop_);
  const std::shared_ptr<Waiting> mine = place;
  ++mine->askers;
  why_ = why;
  grace_ = grace;
  if (!std::exchange(writing_, true)) scope_.spawn(write());
  co_await wait(*mine, grace);
  if (--mine->askers == 0) waiting_.erase(container);
  if (mine->outcome) co_return *mine->outcome;
  if (!not_heard_) log_.warn("YARN's operator does not answer; killing containers", {{"node", node_name_}});
  not_heard_ = loop_.clock().monotonic();
  co_return YarnReclaimOutcome::kNotHeard;
}

net::Task<void> YarnReclaim::write() {
  co_await loop_.sleep(kGather);
  writing_ = false;
  model::ReclaimRequest request;
  request.generation = model::next_generation(generation_, loop_.clock().wall());
  request.reason = model::reason_id(why_);
  request.asked = loop_.clock().wall();
  request.grace_seconds = std::chrono::ceil<std::chrono::seconds>(grace_).count();
  request.hold_seconds = std::chrono::duration_cast<std::chrono::seconds>(hold_back_).count();
  generation_ = request.generation;
  std::vector<std::shared_ptr<Waiting>> asked;
  for (const auto& [container, waiting] : waiting_) {
    if (waiting->outcome) continue;
    if (request.containers.size() == model::kReclaimContainersMax) break;
    if (waiting->generation == 0) waiting->generation = request.generation;
    request.containers.push_back(container);
    asked.push_back(waiting);
  }
  if (request.containers.empty()) co_return;
  kube::WriteOptions options;
  options.subresource = "status";  // the agent may write only the status of its Node
  options.note.reason = model::reason_id(why_);
  const auto written = co_await writer_.patch(
      kube::kNodes, node_name_, kube::PatchType::kMerge,
      kube::annotation_patch(model::kYarnReclaimAnnotation, model::format_reclaim_request(request)), std::move(options),
      kReclaimLimit);
  if (written) co_return;
  log_.warn("cannot ask YARN's operator", {{"error", written.error().message}});
  for (const auto& waiting : asked) {
    if (!waiting->outcome && !waiting->leaving) tell(*waiting, YarnReclaimOutcome::kRefused);
  }
}

}  // namespace tidemark::agent

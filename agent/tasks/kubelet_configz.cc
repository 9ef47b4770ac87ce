#include "agent/tasks/kubelet_configz.h"

#include <utility>

#include "agent/tasks/kubelet_question.h"

namespace tidemark::agent {

net::Task<void> KubeletConfigz::run() {
  while (true) {
    auto said = co_await ask_configz(transport_, bearer_ ? bearer_() : "");
    const bool away = !said && said.error().kind != ErrorKind::kDenied;
    take(std::move(said));
    co_await loop_.sleep(away ? kConfigzRetry : kConfigzInterval);
  }
}

void KubeletConfigz::take(Result<policy::evict::KubeletFound> said) {
  if (said) {
    if (!std::exchange(told_, "").empty()) log_.info("read the kubelet's configuration");
    found_ = std::move(*said);
    return;
  }
  if (told_ == said.error().message) return;
  told_ = said.error().message;
  log_.warn(found_ ? "cannot read the kubelet's configuration; keeping the last one"
                   : "the kubelet does not tell its configuration: the eviction thresholds are those of the settings",
            {{"error", told_}});
}

}  // namespace tidemark::agent

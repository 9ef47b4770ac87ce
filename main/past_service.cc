#include "main/past_service.h"

#include <utility>

namespace tidemark::main {
namespace {

kube::ClientConfig reviewer_config(std::string_view user_agent) {
  kube::ClientConfig config;
  config.user_agent = user_agent;
  return config;
}

}  // namespace

void declare_past_flag(base::Flags& flags, std::string& address) {
  flags.group("Console");
  flags
      .text("past-addr", address,
            "address that serves records to consoles whose token may get /tidemark/past; default off")
      .placeholder("HOST:PORT");
}

PastService::PastService(net::EventLoop& loop, const Cluster& cluster, base::Random random, std::string_view user_agent)
    : reviewer_(loop, *cluster.transport, cluster.bearer, reviewer_config(user_agent), random),
      review_(loop, reviewer_, std::string(journal::kPastAudience), std::string(journal::kPastRight)) {}

Result<std::unique_ptr<PastService>> PastService::make(net::EventLoop& loop, const base::Log& log,
                                                       const Cluster& cluster, base::Random random,
                                                       const std::string& address, std::string_view user_agent,
                                                       journal::PastAnswers answers) {
  if (address.empty()) return nullptr;
  std::unique_ptr<PastService> out(new PastService(loop, cluster, random, user_agent));
  TM_TRY(out->server_,
         journal::PastServer::listen(
             loop, log, address, [&review = out->review_](std::string token) { return review.check(std::move(token)); },
             std::move(answers)));
  return out;
}

}  // namespace tidemark::main

// The relevant part of the kubelet's configuration: GET /configz, which needs only the permission nodes/configz (from
// Kubernetes 1.33 on). Asked at the start and each hour, and sooner after a failure. The last answer stays valid until
// the next.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "policy/explain/doctor/node_findings.h"

namespace tidemark::agent {

inline constexpr base::Duration kConfigzInterval =
    std::chrono::hours(1);  // also after a refusal: permissions seldom change
inline constexpr base::Duration kConfigzRetry = std::chrono::minutes(1);  // after no answer

class KubeletConfigz {
 public:
  // `transport` leads to the kubelet; `bearer` returns the token to send, and may be empty. Both outlive it.
  KubeletConfigz(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer,
                 base::Log log)
      : loop_(loop), transport_(transport), bearer_(std::move(bearer)), log_(std::move(log)) {}

  net::Task<void> run();

  const std::optional<policy::evict::KubeletFound>& found() const { return found_; }  // nullopt: it never answered

 private:
  void take(Result<policy::evict::KubeletFound> said);

  net::EventLoop& loop_;
  net::HttpTransport& transport_;
  std::function<std::string()> bearer_;
  base::Log log_;
  std::optional<policy::evict::KubeletFound> found_;
  std::string told_;  // the last reported failure
};

}  // namespace tidemark::agent

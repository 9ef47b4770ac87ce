// How the kubelet of this node is configured, as far as it matters here: GET /configz, which needs the right
// nodes/configz and no other (from Kubernetes 1.33 on). Asked at the start and each hour, and sooner where it did not
// answer. What it said once counts until it says something else.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "policy/doctor/node_findings.h"

namespace tidemark::agent {

inline constexpr base::Duration kConfigzInterval = std::chrono::hours(1);  // also where it refuses: rights come seldom
inline constexpr base::Duration kConfigzRetry = std::chrono::minutes(1);   // where it does not answer

class KubeletConfigz {
 public:
  // `transport` leads to the kubelet; `bearer` answers the token to send, and may be empty. Both outlive it.
  KubeletConfigz(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer,
                 base::Log log)
      : loop_(loop), transport_(transport), bearer_(std::move(bearer)), log_(std::move(log)) {}

  net::Task<void> run();

  const std::optional<policy::KubeletFound>& found() const { return found_; }  // nullopt: it never said

 private:
  void take(Result<policy::KubeletFound> said);

  net::EventLoop& loop_;
  net::HttpTransport& transport_;
  std::function<std::string()> bearer_;
  base::Log log_;
  std::optional<policy::KubeletFound> found_;
  std::string told_;  // why it does not say, told last
};

}  // namespace tidemark::agent

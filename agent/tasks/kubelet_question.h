// One request to the kubelet of this node.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "policy/explain/doctor/node_findings.h"

namespace tidemark::agent {

inline constexpr base::Duration kKubeletAnswerLimit = std::chrono::seconds(3);

// Literals: they are kept, not copied.
struct KubeletQuestion {
  std::string_view target;  // "/pods"
  std::string_view what;    // "the list of its pods", in messages
  std::string_view remedy;  // what to do if it refuses (403)
};

// The answer's body. `bearer`: the token to send, "" for none.
net::Task<Result<std::string>> ask_kubelet(net::HttpTransport& transport, std::string bearer, KubeletQuestion question,
                                           base::Duration limit);

// The relevant part of its configuration: GET /configz, which needs the permission nodes/configz.
net::Task<Result<policy::evict::KubeletFound>> ask_configz(net::HttpTransport& transport, std::string bearer);

}  // namespace tidemark::agent

// Reads the log of a container of a pod from the API server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::gateway {

struct PodLogOptions {
  std::string_view container;
  std::string since{};          // RFC 3339; the server compares whole seconds. "": from its begin
  std::int64_t tail_lines = 0;  // 0: all
  std::int64_t bytes_max = 0;   // of the answer, from where it begins
  bool timestamps = false;      // each line begins with its time
  bool until_it_ends = false;   // wait for the end of the container, at most until the limit of the call
};

// kInvalid: the container has not started. kNotFound: there is no such pod.
net::Task<Result<std::string>> pod_log(kube::Reader& reader, std::string ns, std::string pod, PodLogOptions options,
                                       base::Duration limit);

}  // namespace tidemark::gateway

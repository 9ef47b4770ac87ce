#include "gateway/pod_log.h"

#include "base/text.h"
#include "net/http.h"

namespace tidemark::gateway {

net::Task<Result<std::string>> pod_log(kube::Reader& reader, std::string ns, std::string pod, PodLogOptions options,
                                       base::Duration limit) {
  std::string path = base::cat("pods/", net::percent_encode(pod), "/log?container=", options.container);
  if (!options.since.empty()) path += base::cat("&sinceTime=", net::percent_encode(options.since));
  if (options.tail_lines > 0) path += base::cat("&tailLines=", options.tail_lines);
  if (options.bytes_max > 0) path += base::cat("&limitBytes=", options.bytes_max);
  if (options.timestamps) path += "&timestamps=true";
  if (options.until_it_ends) path += "&follow=true";
  // A log has its place below the pods of a namespace, as an object of a kind of its own.
  const kube::Resource log{"", "v1", path, "Pod", true};
  co_return co_await reader.get(log, ns, "", limit);
}

}  // namespace tidemark::gateway

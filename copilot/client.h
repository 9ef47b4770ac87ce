// The copilot API as calls: plain HTTP, usually over a unix socket. A copilot answers 400 to all that goes wrong and
// says seldom what, so such an answer is kUnavailable: its source is away, or it does not know the container.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "copilot/container.h"
#include "copilot/limit_permit.h"
#include "model/task.h"
#include "net/http_client.h"

namespace tidemark::copilot {

inline constexpr std::size_t kAnswerBytesMax = 8 * 1024 * 1024;

// For a client of that socket: an absolute path.
Result<net::HttpClientConfig> socket_config(std::string_view path);

struct StopOrder {
  std::string id;
  std::chrono::seconds grace;  // an hour at most
  std::string reason;          // one line of at most 200 bytes; may be empty
};

class Client {
 public:
  // `transport` leads to the copilot and outlives the client. Every call has a limit: a copilot asks its scheduler's
  // daemon before it answers, and that one may hang.
  explicit Client(net::HttpTransport& transport) : transport_(transport) {}

  net::Task<Result<Information>> information(base::Duration limit);
  net::Task<Result<ContainerList>> containers(base::Duration limit);  // without those that have ended
  net::Task<Result<Container>> container(std::string id, base::Duration limit);
  // Answers the container as it was before. It may go on for a while.
  net::Task<Result<Container>> kill(std::string id, base::Duration limit);
  // Asks a container to end; the copilot kills it after `grace`. Done when the copilot has accepted. If asked again,
  // the earlier deadline holds. A route of our own copilot: kUnsupported if another copilot does not know it, or does
  // not know the container.
  net::Task<Result<void>> stop(StopOrder order, base::Duration limit);
  // Sends the permit for the copilot's own limits. Returns the copilot's status of them in one line of at most
  // kSaysBytesMax, "" if it sets none. A route of ours: kUnsupported if another copilot does not know it.
  net::Task<Result<std::string>> send_limit_permit(LimitPermit permit, base::Duration limit);
  // Containers worth at least so much, as the copilot chooses. kUnsupported: the peer's answers 200 without a word, and
  // has done nothing.
  net::Task<Result<std::vector<Container>>> kill_by_resource(model::Resources amount, base::Duration limit);

 private:
  net::Task<Result<std::string>> call(net::HttpRequest request, base::Duration limit);
  net::HttpTransport& transport_;
};

}  // namespace tidemark::copilot

#include "cli/local/followed_transport.h"

#include <utility>

namespace tidemark::cli {

net::Task<Result<net::HttpResponse>> FollowedTransport::fetch(net::HttpRequest request, base::Duration limit) {
  const auto used = current_;
  auto answer = co_await used->fetch(std::move(request), limit);
  if (!answer) look_again(used, answer.error());
  co_return answer;
}

net::Task<Result<std::unique_ptr<net::HttpStream>>> FollowedTransport::open(net::HttpRequest request,
                                                                            base::Duration limit) {
  const auto used = current_;
  auto stream = co_await used->open(std::move(request), limit);
  if (!stream) look_again(used, stream.error());
  co_return stream;
}

void FollowedTransport::look_again(const std::shared_ptr<net::HttpTransport>& used, const Error& why) {
  // Of several that fail together the first one looks.
  if (why.kind != ErrorKind::kUnavailable || used != current_) return;
  if (auto next = connect_()) current_ = *std::move(next);
}

}  // namespace tidemark::cli

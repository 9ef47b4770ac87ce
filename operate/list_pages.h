// Listing objects for a command: each answer of the server in its time, however many pages there are.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "net/loop.h"

namespace tidemark::operate {

inline constexpr base::Duration kWholeListMax = std::chrono::minutes(10);  // all pages together

// Each object goes to `on_item` as bytes and is not kept. `limit` is for one page. A kind that the cluster does not
// have is an empty list. `on_restart`: drop what was collected, all of it comes again. Answers the revision that a
// watch goes on from; "" where the cluster does not have the kind.
inline net::Task<Result<std::string>> list_pages(net::EventLoop& loop, kube::Client& client, kube::Resource resource,
                                                 kube::ListOptions list, base::Duration limit,
                                                 std::function<Result<void>(std::string_view item)> on_item,
                                                 std::function<void()> on_restart) {
  net::Event news(loop);
  bool done = false;
  Result<std::string> listed;
  net::Scope scope(loop);  // ends the list with this function
  auto run = [&]() -> net::Task<void> {
    listed = co_await client.list(
        resource, std::move(list),
        [&](std::string_view page) -> Result<void> {
          news.set();
          TM_TRY_VOID(kube::decode_list(page, on_item));
          return {};
        },
        std::move(on_restart), kWholeListMax);
    done = true;
    news.set();
  };
  scope.spawn(run());
  while (!done) {
    if (!co_await news.wait_for(limit)) {
      co_return fail(ErrorKind::kDeadline, "listing ", resource.kind, ": no answer within ",
                     base::format_go_duration(limit));
    }
    news.clear();
  }
  if (!listed && listed.error().kind == ErrorKind::kNotFound) co_return std::string();
  if (!listed) co_return std::unexpected(std::move(listed).error().within(base::cat("listing ", resource.kind)));
  co_return listed;
}

}  // namespace tidemark::operate

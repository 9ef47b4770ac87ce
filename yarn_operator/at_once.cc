#include "yarn_operator/at_once.h"

#include <algorithm>

namespace tidemark::yarn_operator {
namespace {

struct Work {
  const std::function<net::Task<void>(std::size_t)>& on;
  std::size_t count = 0;
  std::size_t next = 0;
  std::size_t workers = 0;
  net::Event done;
};

net::Task<void> go_on(Work& work) {
  while (work.next < work.count) co_await work.on(work.next++);
  if (--work.workers == 0) work.done.set();
}

}  // namespace

net::Task<void> at_once(net::EventLoop& loop, std::size_t count, std::size_t most,
                        std::function<net::Task<void>(std::size_t)> work) {
  if (count == 0) co_return;
  Work all{.on = work, .count = count, .workers = std::min(count, most), .done = net::Event(loop)};
  net::Scope scope(loop);
  for (std::size_t i = all.workers; i > 0; --i) scope.spawn(go_on(all));
  co_await all.done.wait();
}

}  // namespace tidemark::yarn_operator

#include "kube/memory/watch_stream.h"

#include <algorithm>

#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/server.h"
#include "kube/memory/turn.h"

namespace tidemark::kube::memory {

using base::cat;
using net::HttpExchange;
using net::Task;

Task<void> answer_watch(HttpExchange& exchange, net::EventLoop& loop, Store& store, Lists& lists,
                        const ServerConfig& config, WatchQuestion question) {
  auto& [request, path, kind, form] = question;
  const bool initial = request.send_initial || request.revision <= 0;
  // Pods are watched by node, everything by name: one write then visits those who asked for it and no others.
  std::vector<std::size_t> indexed;
  for (std::size_t i = 0; i < kind->fields.size(); ++i)
    if (kind->fields[i].path == "spec.nodeName") indexed.push_back(i);
  const auto begin_watch = [&] {
    return store.watch(kind->storage_id, request.filter, request.revision, initial, indexed);
  };
  auto watch = begin_watch();
  AnswerBudget::Share share;
  if (watch && initial) {
    const std::size_t bytes = held_bytes((*watch)->initial());
    if (auto room = lists.budget().try_take(bytes)) {
      share = std::move(*room);
    } else {
      // A waiting watch holds no objects; it reads the state afterwards.
      watch->reset();
      auto later = co_await lists.room(bytes);
      if (!later) {
        answer_error(exchange, later.error());
        co_return;
      }
      share = std::move(*later);
      watch = begin_watch();
      if (watch) share.resize(held_bytes((*watch)->initial()));
    }
  }
  net::Headers headers = headers_for(kJson);
  if (!watch) {
    if (watch.error().code != 410) {
      answer_error(exchange, watch.error());
      co_return;
    }
    // As over an open stream: clients look for the error there.
    exchange.start(200, std::move(headers));
    co_await exchange.write(
        net::make_buffer(cat("{\"type\":\"ERROR\",\"object\":", watch.error().to_json().dump(), "}\n")),
        config.write_timeout);
    co_return;
  }
  exchange.start(200, std::move(headers));
  exchange.end_at_drain();
  Watch& stream = **watch;
  std::int64_t told = stream.revision();
  const base::MonotonicTime begin = loop.clock().monotonic();
  const base::Duration lifetime = request.timeout_s && *request.timeout_s > 0
                                      ? base::Duration(std::chrono::seconds(*request.timeout_s))
                                      : config.watch_timeout;
  base::MonotonicTime bookmark_at = begin + config.bookmark_interval;
  Turn turn;
  {
    const std::int64_t start = told;
    for (ObjectPtr& object : stream.take_initial()) {
      const auto sent = co_await exchange.write(
          net::make_buffer(render_initial(*kind, path.version, *object, form, loop.clock().wall())),
          config.write_timeout);
      if (!sent) co_return;
      object.reset();
      form.columns = false;  // sent once per stream
      if (turn.is_over(0)) co_await loop.sleep(base::Duration(0));
    }
    share = {};
    if (request.send_initial &&
        !(co_await exchange.write(net::make_buffer(render_bookmark(*kind, path.version, start, true, form)),
                                  config.write_timeout)))
      co_return;
  }
  for (;;) {
    while (auto item = stream.next()) {
      told = item->change->revision;
      const net::Buffer line = render_change(*kind, path.version, item->type, *item->change, form, loop.clock().wall());
      if (!(co_await exchange.write(line, config.write_timeout))) co_return;
      form.columns = false;
    }
    if (stream.overflowed()) {
      const ApiError error = expired(cat("too old resource version: ", told, " (this watch was too slow)"));
      co_await exchange.write(net::make_buffer(cat("{\"type\":\"ERROR\",\"object\":", error.to_json().dump(), "}\n")),
                              config.write_timeout);
      co_return;
    }
    const base::MonotonicTime now = loop.clock().monotonic();
    if (now - begin >= lifetime) {
      if (request.bookmarks)
        co_await exchange.write(net::make_buffer(render_bookmark(*kind, path.version, stream.revision(), false, form)),
                                config.write_timeout);
      co_return;
    }
    if (request.bookmarks && now >= bookmark_at) {
      bookmark_at = now + config.bookmark_interval;
      if (!(co_await exchange.write(
              net::make_buffer(render_bookmark(*kind, path.version, stream.revision(), false, form)),
              config.write_timeout)))
        co_return;
    }
    base::Duration wait = lifetime - (now - begin);
    if (request.bookmarks) wait = std::min(wait, bookmark_at - now);
    co_await stream.wait_for(wait);
  }
}

}  // namespace tidemark::kube::memory

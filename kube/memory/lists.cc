#include "kube/memory/lists.h"

#include <utility>

#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/server.h"
#include "kube/memory/turn.h"

namespace tidemark::kube::memory {

using base::cat;
using net::HttpExchange;
using net::Task;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;  // an answer of fewer goes out whole
constexpr std::string_view kInconsistent =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";
constexpr std::size_t kObjectOverhead = 64;  // bytes of a place in a page, and of the text around an object

ApiError no_room(std::size_t bytes_max) {
  ApiError error = plain_error(
      429, "TooManyRequests",
      cat("the lists being answered hold as much as they may (", bytes_max, " bytes), please try again later"));
  error.retry_after_s = 1;
  return error;
}

}  // namespace

std::size_t held_bytes(const std::vector<ObjectPtr>& objects) {
  std::size_t bytes = 0;
  for (const ObjectPtr& object : objects) bytes += object->bytes->size() + kObjectOverhead;
  return bytes;
}

Lists::Lists(net::EventLoop& loop, Store& store, Registry& registry, const ServerConfig& config, Bodies& bodies)
    : loop_(loop),
      store_(store),
      registry_(registry),
      config_(config),
      bodies_(bodies),
      budget_(loop, config.lists_bytes_max, config.lists_waiting_max) {}

Answer<Store::Page> Lists::page_of(const Kind& kind, const ListRequest& request) const {
  const std::int64_t now = store_.revision();
  if (request.revision > now) {
    ApiError error =
        plain_error(504, "Timeout", cat("Timeout: Too large resource version: ", request.revision, ", current: ", now));
    error.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
    error.retry_after_s = 1;
    return refuse(std::move(error));
  }
  auto page = store_.list(kind.storage_id, request.filter, request.exact ? request.revision : 0, request.start_key,
                          request.limit);
  if (!page && request.continued) {
    page.error().message = std::string(kInconsistent);
    page.error().continue_token = make_continue_token(-1, request.filter, request.start_key);
  }
  return page;
}

Task<Answer<AnswerBudget::Share>> Lists::room(std::size_t bytes) {
  auto share = co_await budget_.take(bytes, config_.lists_wait);
  if (!share) co_return refuse(no_room(config_.lists_bytes_max));
  co_return std::move(*share);
}

Task<Answer<Lists::Admitted>> Lists::admit(const Kind& kind, const ListRequest& request) {
  std::size_t bytes = 0;
  {
    auto page = page_of(kind, request);
    if (!page) co_return refuse(std::move(page.error()));
    bytes = held_bytes(page->items);
    if (auto share = budget_.try_take(bytes)) co_return Admitted{std::move(*page), std::move(*share)};
  }
  // A waiting list holds no objects; it reads the state afterwards.
  auto share = co_await room(bytes);
  if (!share) co_return refuse(std::move(share.error()));
  auto page = page_of(kind, request);
  if (!page) co_return refuse(std::move(page.error()));
  share->resize(held_bytes(page->items));
  co_return Admitted{std::move(*page), std::move(*share)};
}

Task<void> Lists::answer(HttpExchange& exchange, const ResourcePath& path, KindPtr kind, ListRequest request,
                         OutputForm form) {
  auto admitted = co_await admit(*kind, request);
  if (!admitted)
    answer_error(exchange, admitted.error());
  else
    co_await send(exchange, path, std::move(kind), std::move(*admitted), form, std::move(request.filter));
}

// Sent and forgotten object by object: what is left of a page is all that it holds.
Task<void> Lists::send(HttpExchange& exchange, const ResourcePath& path, KindPtr kind, Admitted admitted,
                       OutputForm form, Filter filter) {
  Store::Page& page = admitted.page;
  const std::string token = page.next_key.empty() ? "" : make_continue_token(page.revision, filter, page.next_key);
  const net::Headers headers = headers_for(form.yaml ? "application/yaml" : kJson);
  const base::MonotonicTime begin = loop_.clock().monotonic();
  const auto slowest = std::chrono::seconds(admitted.share.bytes() / config_.lists_rate_min);
  ListText list(*kind, path.version, page, token, form, loop_.clock().wall());
  std::string text;
  bool started = false;
  Turn turn;
  list.begin(text);
  for (ObjectPtr& object : page.items) {
    list.add(text, *object);
    const bool turn_is_over = turn.is_over(object->bytes->size());
    object.reset();
    if (text.size() >= kPieceBytes) {
      if (!std::exchange(started, true)) exchange.start(200, headers);
      const auto taken = co_await exchange.write(net::make_buffer(std::exchange(text, {})), config_.write_timeout);
      if (!taken || loop_.clock().monotonic() - begin > config_.write_timeout + slowest) {
        exchange.abort();
        co_return;
      }
    }
    if (turn_is_over) co_await loop_.sleep(base::Duration(0));
  }
  list.end(text);
  admitted.share.resize(text.size());
  net::Buffer last = make_buffer_with_share(std::move(text), std::move(admitted.share));
  if (started)
    co_await exchange.write(std::move(last), config_.write_timeout);
  else
    exchange.respond(200, headers, std::move(last));
}

Task<void> Lists::delete_all(HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                             KindPtr kind) {
  auto body = co_await bodies_.read(exchange);
  if (!body) {
    answer_error(exchange, body.error());
    co_return;
  }
  // While the body was on its way the definition may have changed or gone.
  kind = kind_at(registry_.kinds(), path);
  if (kind == nullptr) {
    answer_unknown_path(exchange, registry_.kinds(), target.path);
    co_return;
  }
  auto request = parse_list_request(*kind, path, target);
  const auto tree =
      body->text.empty() ? Answer<Json>(Json()) : parse_body(exchange.head().headers.get("content-type"), body->text);
  *body = {};
  const auto options = tree ? parse_delete_request(target, *tree) : Answer<DeleteRequest>(refuse(tree.error()));
  if (!request || !options) {
    answer_error(exchange, request ? options.error() : request.error());
    co_return;
  }
  auto admitted = co_await admit(*kind, *request);
  if (!admitted) {
    answer_error(exchange, admitted.error());
    co_return;
  }
  if (const auto removed = co_await remove(kind, admitted->page, *options); !removed) {
    answer_error(exchange, removed.error());
    co_return;
  }
  co_await send(exchange, path, std::move(kind), std::move(*admitted), {}, std::move(request->filter));
}

Task<Answer<void>> Lists::remove(KindPtr kind, const Store::Page& page, const DeleteRequest& options) {
  Turn turn;
  Store::TicketPtr last;  // the log takes writes in their order: where it has this one, it has those before
  for (const ObjectPtr& object : page.items) {
    // Others have their turn in between: only what the page has is meant, not what took its name since.
    const std::string key = object_key(object->ns, object->name);
    ObjectPtr now = store_.latest(kind->storage_id, key);
    // Another request deletes it too: it is gone when the log has that write.
    while (now == nullptr) {
      const Store::TicketPtr other = store_.pending(kind->storage_id, key);
      if (other == nullptr) break;
      co_await Store::durable(other);
      now = store_.latest(kind->storage_id, key);
    }
    if (now == nullptr || now->uid != object->uid) continue;
    auto written = registry_.remove(kind, object->ns, object->name, options);
    if (!written) co_return refuse(std::move(written.error()));
    if (written->ticket != nullptr) last = std::move(written->ticket);
    if (!turn.is_over(object->bytes->size())) continue;
    // Waiting for the log bounds what waits for it.
    if (last != nullptr) {
      auto durable = co_await Store::durable(std::exchange(last, nullptr));
      if (!durable) co_return durable;
    }
    co_await loop_.sleep(base::Duration(0));
  }
  if (last == nullptr) co_return Answer<void>();
  co_return co_await Store::durable(std::move(last));
}

}  // namespace tidemark::kube::memory

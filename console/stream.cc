#include "console/stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "console/guard.h"

namespace tidemark::console {
namespace {

std::string frame(std::string_view id, std::string_view event, std::string_view data) {
  return base::cat("id: ", id, "\nevent: ", event, "\ndata: ", data, "\n\n");
}

}  // namespace

struct Stream::Reader {
  net::HttpExchange& exchange;
  base::Duration write_limit;
  bool packs;  // it accepts gzip
  GzipSum sum{};

  net::Task<Result<void>> send(SharedPiece piece) {
    if (!packs) co_return co_await exchange.write(piece->plain, write_limit);
    if (!piece->sum) {
      piece->sum = gzip_piece(*piece->plain);
      if (!piece->sum) co_return fail(ErrorKind::kInternal, "zlib refuses");
      piece->packed = net::make_buffer(std::exchange(piece->sum->bytes, {}));
    }
    sum.add(*piece->sum);
    co_return co_await exchange.write(piece->packed, write_limit);
  }
};

Stream::Stream(net::EventLoop& loop, base::Registry& metrics, std::string run, std::function<std::string()> snapshot,
               base::Duration write_limit)
    : loop_(loop),
      run_(std::move(run)),
      snapshot_(std::move(snapshot)),
      write_limit_(write_limit),
      published_(loop),
      readers_gauge_(metrics.gauge("tidemark_console_stream_readers", "Open event streams.")),
      frames_(metrics.counter("tidemark_console_stream_frames_total", "Frames that were made for all readers.")),
      cut_(metrics.counter("tidemark_console_stream_cut_total", "Readers that did not read in time.")) {}

std::string Stream::id(std::uint64_t number) const {
  return base::cat(run_, "-", number);
}

void Stream::publish(std::string_view data) {
  ++number_;
  frames_.add(1);
  ring_.push_back({number_, loop_.clock().monotonic(), std::make_shared<Piece>(frame(id(number_), "delta", data))});
  ring_bytes_ += ring_.back().piece->plain->size();
  trim();
  published_.set();
  published_.clear();
}

void Stream::trim() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  while (!ring_.empty() && (now - ring_.front().at > kFrameLife || ring_bytes_ > kRingBytesMax)) {
    ring_bytes_ -= ring_.front().piece->plain->size();
    ring_.pop_front();
  }
}

Stream::SharedPiece Stream::whole() {
  if (!whole_ || whole_number_ != number_) {
    whole_ = std::make_shared<Piece>(frame(id(number_), "snapshot", snapshot_()));
    whole_number_ = number_;
  }
  return whole_;
}

// Whether every frame after `number` is in the ring.
bool Stream::holds_after(std::uint64_t number) const {
  if (number > number_) return false;
  if (number == number_) return true;
  return !ring_.empty() && ring_.front().number <= number + 1;
}

net::Task<void> Stream::serve(net::HttpExchange& exchange, std::optional<base::Duration> longest) {
  if (readers_ >= kReadersMax) {
    respond_problem(exchange, 503, "too-many-streams",
                    base::cat("there are ", kReadersMax, " open streams already; close some pages"));
    co_return;
  }
  struct Count {
    Stream& stream;
    explicit Count(Stream& of) : stream(of) { stream.readers_gauge_.set(static_cast<double>(++stream.readers_)); }
    ~Count() { stream.readers_gauge_.set(static_cast<double>(--stream.readers_)); }
  } count(*this);

  net::Headers headers = answer_headers("text/event-stream", "no-store");
  headers.set("x-accel-buffering", "no");  // nginx would keep events back
  headers.set("vary", "accept-encoding");
  Reader reader{exchange, write_limit_, accepts(exchange.head(), "gzip")};
  if (reader.packs) headers.set("content-encoding", "gzip");
  exchange.start(200, std::move(headers));
  exchange.end_at_drain();
  const auto cut = [&] {
    cut_.add(1);
    exchange.abort();
  };
  if (reader.packs && !co_await exchange.write(net::make_buffer(std::string(kGzipHead)), write_limit_)) co_return cut();

  std::optional<std::uint64_t> sent;
  const auto target = net::parse_target(exchange.head().target);
  std::string last(exchange.head().headers.get("last-event-id"));
  if (last.empty() && target) last = target->get("after");
  const std::string own = base::cat(run_, "-");
  if (last.starts_with(own)) sent = base::parse_uint(std::string_view(last).substr(own.size()));
  bool reset = !last.empty();
  const base::MonotonicTime began = loop_.clock().monotonic();
  while (!longest || loop_.clock().monotonic() - began < *longest) {
    trim();
    SharedPiece next;
    std::uint64_t next_number = number_;
    if (sent && holds_after(*sent)) {
      if (*sent < number_) {
        const auto at = std::ranges::find(ring_, *sent + 1, &Frame::number);
        next = at->piece;
        next_number = at->number;
      }
    } else {
      next = whole();
      if (reset && !co_await reader.send(std::make_shared<Piece>(frame(id(next_number), "reset", "{}")))) {
        co_return cut();
      }
    }
    reset = true;
    if (!next) {
      if (co_await published_.wait_for(kPing)) continue;
      next = ping_;
    }
    sent = next_number;
    if (!co_await reader.send(std::move(next))) co_return cut();
  }
  if (!co_await reader.send(again_)) co_return cut();
  if (reader.packs) co_await exchange.write(net::make_buffer(reader.sum.tail()), write_limit_);
}

}  // namespace tidemark::console

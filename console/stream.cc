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
  ring_.push_back({number_, loop_.clock().monotonic(), net::make_buffer(frame(id(number_), "delta", data))});
  ring_bytes_ += ring_.back().bytes->size();
  trim();
  published_.set();
  published_.clear();
}

void Stream::trim() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  while (!ring_.empty() && (now - ring_.front().at > kFrameLife || ring_bytes_ > kRingBytesMax)) {
    ring_bytes_ -= ring_.front().bytes->size();
    ring_.pop_front();
  }
}

net::Buffer Stream::whole(bool reset) {
  if (!whole_ || whole_number_ != number_) {
    whole_ = net::make_buffer(frame(id(number_), "snapshot", snapshot_()));
    whole_number_ = number_;
  }
  if (!reset) return whole_;
  return net::make_buffer(base::cat(frame(id(number_), "reset", "{}"), *whole_));
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
  exchange.start(200, std::move(headers));
  exchange.end_at_drain();

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
    net::Buffer next;
    std::uint64_t next_number = number_;
    if (sent && holds_after(*sent)) {
      if (*sent < number_) {
        const auto at = std::ranges::find(ring_, *sent + 1, &Frame::number);
        next = at->bytes;
        next_number = at->number;
      }
    } else {
      next = whole(reset);
    }
    reset = true;
    if (!next) {
      if (co_await published_.wait_for(kPing)) continue;
      next = net::make_buffer("event: ping\ndata: {}\n\n");
    }
    sent = next_number;
    if (!co_await exchange.write(std::move(next), write_limit_)) {
      cut_.add(1);
      exchange.abort();
      co_return;
    }
  }
  co_await exchange.write(net::make_buffer("event: again\ndata: {}\n\n"), write_limit_);
}

}  // namespace tidemark::console

// Server-sent events: one snapshot, then what changes, encoded and compressed once for all readers.
//
//   id: 3f9c-17            the run of the console, and the number of the frame
//   event: delta           snapshot, delta or reset
//   data: {…}
//
// A reader that comes back with the id of a frame that is still in the ring, in Last-Event-ID or as ?after=, gets the
// frames after it; with any other id it gets `reset` and a new snapshot. `again` asks a reader to come back at once:
// the stream ends then, and no frame is lost. Frames stay kFrameLife, and all of them at most kRingBytesMax. A reader
// that falls behind the ring is reset too; one that does not read for `write_limit` is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/result.h"
#include "console/gzip.h"
#include "net/http.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::console {

class Stream {
 public:
  static constexpr base::Duration kFrameLife = std::chrono::seconds(60);
  // An event without a number while nothing changes: proxies keep a quiet stream, and the page notices a lost one.
  static constexpr base::Duration kPing = std::chrono::seconds(15);
  static constexpr std::size_t kRingBytesMax = 4 * 1024 * 1024;
  static constexpr std::size_t kReadersMax = 500;

  // `snapshot` returns the data of a snapshot as it is now. `run` identifies this process.
  Stream(net::EventLoop& loop, base::Registry& metrics, std::string run, std::function<std::string()> snapshot,
         base::Duration write_limit = std::chrono::seconds(10));

  void publish(std::string_view data);  // a delta
  std::size_t readers() const { return readers_; }

  // Until the client leaves, is cut, or the server drains; at most for `longest`, then with `again`.
  net::Task<void> serve(net::HttpExchange& exchange, std::optional<base::Duration> longest = std::nullopt);

 private:
  // What readers share.
  struct Piece {
    explicit Piece(std::string text) : plain(net::make_buffer(std::move(text))) {}
    net::Buffer plain;
    std::optional<GzipPiece> sum{};  // nullopt: no reader asked for it compressed
    net::Buffer packed{};
  };
  using SharedPiece = std::shared_ptr<Piece>;
  struct Frame {
    std::uint64_t number;
    base::MonotonicTime at;
    SharedPiece piece;
  };
  struct Reader;
  std::string id(std::uint64_t number) const;
  SharedPiece whole();  // a snapshot; made once for each number
  bool holds_after(std::uint64_t number) const;
  void trim();

  net::EventLoop& loop_;
  std::string run_;
  std::function<std::string()> snapshot_;
  base::Duration write_limit_;
  std::uint64_t number_ = 0;  // of the last frame
  std::deque<Frame> ring_;
  std::size_t ring_bytes_ = 0;
  std::uint64_t whole_number_ = 0;
  SharedPiece whole_;  // the snapshot of whole_number_; null: none yet
  SharedPiece ping_ = std::make_shared<Piece>("event: ping\ndata: {}\n\n");
  SharedPiece again_ = std::make_shared<Piece>("event: again\ndata: {}\n\n");
  std::size_t readers_ = 0;
  net::Event published_;
  base::Gauge& readers_gauge_;
  base::Counter& frames_;
  base::Counter& cut_;
};

}  // namespace tidemark::console

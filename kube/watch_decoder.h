// Splits the body of a watch into its events: JSON objects one after another, cut anywhere by the network. Sans-IO.
//
//   decoder.feed(piece);
//   while (true) { TM_TRY(auto event, decoder.next()); if (!event) break; … }
//
// An event's object is split off and not validated: its decoder does that. It stays where it came in, valid until the
// next feed().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client.h"
#include "kube/json_split.h"

namespace tidemark::kube {

class WatchDecoder {
 public:
  // An object of etcd's limit (1.5 MiB, escaped and with managed fields) fits several times.
  static constexpr std::size_t kEventBytesMax = 16 * 1024 * 1024;

  explicit WatchDecoder(std::size_t event_bytes_max = kEventBytesMax) : event_bytes_max_(event_bytes_max) {}

  void feed(std::string_view piece);

  // nullopt: more bytes are needed. An ERROR event becomes the error of its Status (410 is kGone); bytes that are no
  // event are kInvalid, an event past the limit kExhausted. The first error sticks.
  Result<std::optional<WatchEvent>> next();

  // Nothing but white space waits: an end here is a proper one.
  bool between_events() const;
  std::size_t buffered_bytes() const { return buffer_.size() - start_; }

 private:
  std::optional<std::string_view> split();
  Result<std::optional<WatchEvent>> refuse(Error error);

  std::size_t event_bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;  // of the event being read
  std::size_t scan_ = 0;   // looked at so far, so that no byte is looked at twice
  JsonSplitter splitter_;
  std::optional<Error> refused_;
};

}  // namespace tidemark::kube

#include "kube/watch_decoder.h"

#include "base/json.h"
#include "base/text.h"
#include "kube/status.h"

namespace tidemark::kube {
namespace {

constexpr std::size_t kBufferKept = 256 * 1024;  // bytes of capacity that stay between events

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::optional<EventType> event_type(std::string_view text) {
  if (text == "ADDED") return EventType::kAdded;
  if (text == "MODIFIED") return EventType::kModified;
  if (text == "DELETED") return EventType::kDeleted;
  if (text == "BOOKMARK") return EventType::kBookmark;
  return std::nullopt;
}

// As every API server writes it: the type, then the object, and nothing more. nullopt: otherwise, or no event at all.
std::optional<WatchEvent> usual_event(std::string_view bytes, const JsonSplitter::Inner& inner) {
  constexpr std::string_view kBegin = R"({"type":")";
  constexpr std::string_view kMiddle = R"(","object":{)";
  if (!bytes.starts_with(kBegin)) return std::nullopt;
  const std::size_t middle = bytes.find('"', kBegin.size());
  if (middle == std::string_view::npos || !bytes.substr(middle).starts_with(kMiddle)) return std::nullopt;
  const auto type = event_type(bytes.substr(kBegin.size(), middle - kBegin.size()));
  if (!type) return std::nullopt;
  const std::size_t begin = middle + kMiddle.size() - 1;
  const std::size_t end = bytes.size() - 1;
  // The splitter counts brackets of either kind; the JSON reader finds mismatched ones.
  if (inner.count != 1 || inner.begin != begin || inner.end != end || bytes[end - 1] != '}') return std::nullopt;
  if (bytes[end] != '}') return std::nullopt;
  return WatchEvent{*type, bytes.substr(begin, end - begin)};
}

Result<WatchEvent> parse_event(std::string_view bytes, const JsonSplitter::Inner& inner) {
  if (const auto usual = usual_event(bytes, inner)) return *usual;
  base::JsonReader reader(bytes);
  std::string type;
  std::string_view object;
  reader.object([&](std::string_view key) {
    if (key == "type") {
      reader.string(type);
    } else if (key == "object") {
      reader.raw(object);
    } else {
      reader.skip();
    }
  });
  if (auto end = reader.finish(); !end) return base::fail(std::move(end).error().within("watch event"));
  if (type == "ERROR") {
    if (!parse_status(object)) {
      return base::fail(ErrorKind::kInternal, "watch: an ERROR event without a Status: ", base::in_quotes(object));
    }
    return base::fail(status_error(200, {}, object, base::WallTime{}, "ERROR event"));
  }
  const auto known = event_type(type);
  if (!known) return base::fail(ErrorKind::kInvalid, "watch event: unknown type ", base::in_quotes(type));
  if (object.empty() || object.front() != '{') {
    return base::fail(ErrorKind::kInvalid, "watch event: ", type, " without an object");
  }
  return WatchEvent{*known, object};
}

}  // namespace

void WatchDecoder::feed(std::string_view piece) {
  if (refused_) return;
  // What was handed out is dropped here and not in next(), so that a piece of many events moves its rest once.
  if (start_ > 0) {
    buffer_.erase(0, start_);
    scan_ -= start_;
    start_ = 0;
    // One giant event must not leave its size behind for as long as the watch lives.
    if (buffer_.capacity() > kBufferKept && buffer_.size() < kBufferKept / 2) buffer_.shrink_to_fit();
  }
  buffer_.append(piece);
}

std::optional<std::string_view> WatchDecoder::split() {
  if (splitter_.idle()) {
    while (start_ < buffer_.size() && is_blank(buffer_[start_])) ++start_;
    if (scan_ < start_) scan_ = start_;
  }
  // What does not begin an object would be searched to its end for a bracket that may never come.
  if (start_ == buffer_.size() || buffer_[start_] != '{') return std::nullopt;
  const auto length = splitter_.feed(std::string_view(buffer_).substr(scan_));
  if (!length) {
    scan_ = buffer_.size();
    return std::nullopt;
  }
  scan_ += *length;
  const std::string_view event = std::string_view(buffer_).substr(start_, scan_ - start_);
  start_ = scan_;
  return event;
}

Result<std::optional<WatchEvent>> WatchDecoder::refuse(Error error) {
  refused_ = error;
  buffer_.clear();
  buffer_.shrink_to_fit();
  start_ = scan_ = 0;
  return base::fail(std::move(error));
}

Result<std::optional<WatchEvent>> WatchDecoder::next() {
  if (refused_) return base::fail(*refused_);
  const auto bytes = split();
  if (start_ < buffer_.size() && !bytes && buffer_[start_] != '{') {
    return refuse({ErrorKind::kInvalid,
                   base::cat("watch: wanted an event object, found ",
                             base::in_quotes(std::string_view(buffer_).substr(start_), 80)),
                   0, 0});
  }
  if ((bytes ? bytes->size() : buffered_bytes()) > event_bytes_max_) {
    return refuse(
        {ErrorKind::kExhausted, base::cat("watch: an event of more than ", event_bytes_max_, " bytes"), 0, 0});
  }
  if (!bytes) return std::nullopt;
  auto event = parse_event(*bytes, splitter_.inner());
  if (!event) return refuse(std::move(event).error());
  return std::optional<WatchEvent>(std::move(*event));
}

bool WatchDecoder::between_events() const {
  if (refused_) return false;
  for (std::size_t i = start_; i < buffer_.size(); ++i) {
    if (!is_blank(buffer_[i])) return false;
  }
  return true;
}

}  // namespace tidemark::kube

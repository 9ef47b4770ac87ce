#include "journal/line_stream.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "journal/whole_file.h"

namespace tidemark::journal {
namespace {

constexpr std::int64_t kStateSchema = 1;
constexpr std::size_t kStateBytesMax = std::size_t{64} << 10;
constexpr std::size_t kStreamBytesMin = std::size_t{4}
                                        << 10;  // of one request, where the collector takes less than we send
constexpr double kEveryJitter = 0.3;

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string state_text(const std::map<std::string, TailPlace, std::less<>>& places) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object().member("schema", kStateSchema).key("files").begin_object();
  for (const auto& [file, place] : places) {
    json.key(name_of(file))
        .begin_object()
        .member("device", static_cast<std::int64_t>(place.device))
        .member("inode", static_cast<std::int64_t>(place.inode))
        .member("head", static_cast<std::int64_t>(place.head))
        .member("offset", place.offset)
        .end_object();
  }
  json.end_object().end_object();
  return text + "\n";
}

std::optional<TailPlace> place_in(const Json& state, std::string_view file) {
  const Json* schema = state.member("schema");
  const Json* found = state.at("files", name_of(file));
  if (schema == nullptr || schema->get_int() != kStateSchema || found == nullptr) return std::nullopt;
  const auto number = [&](std::string_view key) {
    const Json* value = found->member(key);
    return value == nullptr ? std::nullopt : value->get_int();
  };
  const auto device = number("device"), inode = number("inode"), head = number("head"), offset = number("offset");
  if (!device || !inode || !head || !offset || *offset < 0) return std::nullopt;
  return TailPlace{static_cast<std::uint64_t>(*device), static_cast<std::uint64_t>(*inode),
                   static_cast<std::uint64_t>(*head), *offset};
}

// As they were kept, and where nothing is kept of a file from now on.
Result<std::map<std::string, TailPlace, std::less<>>> read_places(const LineStreamOptions& options) {
  std::map<std::string, TailPlace, std::less<>> out;
  TM_TRY(const auto text, read_whole(options.state_file, kStateBytesMax));
  const auto state = text ? Json::parse(*text) : Result<Json>(Json());
  for (const std::string& file : options.files) {
    const auto kept = state ? place_in(*state, file) : std::nullopt;
    if (kept) {
      out[file] = *kept;
    } else {
      TM_TRY(out[file], end_of(file));
    }
  }
  return out;
}

}  // namespace

LineStream::LineStream(net::EventLoop& loop, net::HttpTransport& collector, net::WorkerPool& worker, base::Log log,
                       base::Registry& metrics, base::Random random, LineStreamOptions options)
    : loop_(loop),
      collector_(collector),
      worker_(worker),
      log_(std::move(log)),
      sent_(metrics.counter("tidemark_stream_lines_total", "Lines that the collector accepted.")),
      given_up_(metrics.counter("tidemark_stream_refused_lines_total", "Lines that the collector refuses for ever.")),
      skipped_(metrics.counter("tidemark_stream_skipped_total",
                               "Times that something was gone before it was sent: the files were full.")),
      failures_(metrics.counter("tidemark_stream_failures_total", "Requests that the collector did not take.")),
      behind_(metrics.gauge("tidemark_stream_behind_bytes", "Bytes of lines that are not sent yet.")),
      random_(std::move(random)),
      backoff_({std::chrono::seconds(1), kStreamBackoffMax}, random_.fork()),
      options_(std::move(options)) {}

void LineStream::turn(bool well, const std::string& why) {
  if (well == !in_trouble_) return;
  in_trouble_ = !well;
  if (well) {
    log_.info("the collector takes what is written down again");
  } else {
    log_.warn("the collector does not take what is written down; it waits in its files", {{"error", why}});
  }
}

net::Task<bool> LineStream::begin() {
  if (begun_) co_return true;
  auto read = co_await worker_.run<Result<Places>>(loop_, [options = options_] { return read_places(options); });
  if (!read || !*read) {
    turn(false, read ? read->error().message : read.error().message);
    co_return false;
  }
  places_ = std::move(**read);
  begun_ = true;
  co_return co_await keep();
}

net::Task<bool> LineStream::keep() {
  auto kept = co_await worker_.run<Result<void>>(
      loop_, [path = options_.state_file, text = state_text(places_)]() -> Result<void> {
        TM_TRY_VOID(write_whole(path, text));
        return {};
      });
  if (kept && *kept) co_return true;
  turn(false, kept ? kept->error().message : kept.error().message);
  co_return false;
}

net::Task<LineStream::Answer> LineStream::post(std::string lines) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = options_.target.empty() ? "/" : options_.target;
  request.headers.set("content-type", "application/x-ndjson");
  request.headers.set("x-tidemark-source", options_.source);
  if (options_.bearer) {
    if (const std::string token = options_.bearer(); !token.empty()) {
      request.headers.set("authorization", "Bearer " + token);
    }
  }
  request.body = std::move(lines);
  const auto response = co_await collector_.fetch(std::move(request), kStreamLimit);
  if (response && response->status >= 200 && response->status < 300) co_return Answer::kTaken;
  failures_.add();
  const std::string why = response ? base::cat("it answers ", response->status) : response.error().message;
  const int status = response ? response->status : 0;
  const bool never = status == 400 || status == 415 || status == 422;
  turn(false, why);
  co_return status == 413 ? Answer::kTooMuch : never ? Answer::kNever : Answer::kLater;
}

net::Task<bool> LineStream::send_file(const std::string& file) {
  while (true) {
    auto read = co_await worker_.run<Result<TailPiece>>(
        loop_, [file, place = places_[file], most = bytes_max_] { return read_on(file, place, most); });
    if (!read || !*read) {
      turn(false, read ? read->error().message : read.error().message);
      co_return false;
    }
    TailPiece piece = std::move(**read);
    behind_of_[file] = piece.behind + static_cast<std::int64_t>(piece.lines.size());
    if (piece.skipped) {
      skipped_.add();
      log_.warn("lines were deleted before they were sent", {{"file", file}});
    }
    if (piece.next == places_[file]) co_return true;
    if (!piece.lines.empty()) {
      const auto lines = std::ranges::count(piece.lines, '\n');
      const Answer answer = co_await post(std::move(piece.lines));
      if (answer == Answer::kLater) co_return false;
      if (answer == Answer::kTooMuch && bytes_max_ > kStreamBytesMin) {
        bytes_max_ /= 2;
        continue;
      }
      (answer == Answer::kTaken ? sent_ : given_up_).add(lines);
      if (answer == Answer::kTaken) turn(true, "");
    }
    places_[file] = piece.next;
    behind_of_[file] = piece.behind;
    if (!co_await keep()) co_return false;
    if (piece.behind == 0) co_return true;
  }
}

net::Task<bool> LineStream::round() {
  if (!co_await begin()) co_return false;
  bool well = true;
  for (const std::string& file : options_.files) {
    if (!co_await send_file(file)) {
      well = false;
      break;
    }
  }
  std::int64_t behind = 0;
  for (const auto& [file, bytes] : behind_of_) behind += bytes;
  behind_.set(static_cast<double>(behind));
  co_return well;
}

net::Task<void> LineStream::run() {
  while (true) {
    const bool well = co_await round();
    if (well) backoff_.reset();
    rests_ = true;
    co_await loop_.sleep(well ? random_.jitter(kStreamEvery, kEveryJitter) : backoff_.next());
    rests_ = false;
  }
}

}  // namespace tidemark::journal

// However a stream of bytes is split, the reader reports the same heads, bodies, ends and failures.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/text.h"
#include "net/http1_codec.h"

using namespace tidemark::net;
using tidemark::base::cat;

namespace {

// `cuts`: lengths of the pieces, used in a circle.
std::string story(Http1Reader::Kind kind, bool answers_head, std::string_view bytes, std::string_view cuts) {
  HttpLimits limits;
  limits.header_bytes_max = 512;
  limits.header_count_max = 8;
  Http1Reader reader(kind, limits);
  reader.answers_head(answers_head);
  std::string out;
  std::size_t cut = 0;
  std::uint64_t declared = 0;
  std::uint64_t got = 0;
  while (!bytes.empty()) {
    const std::size_t length =
        cuts.empty() ? bytes.size() : 1 + static_cast<unsigned char>(cuts[cut++ % cuts.size()]) % 32;
    std::string_view now = bytes.substr(0, length);
    bytes.remove_prefix(now.size());
    for (;;) {
      const auto step = reader.next(now);
      if (step == Http1Reader::Step::kNeedMore) {
        TM_CHECK(now.empty(), "more is wanted only when all is eaten");
        break;
      }
      if (step == Http1Reader::Step::kFailed) return out + "failed";
      if (step == Http1Reader::Step::kHead) {
        out += cat("head ", reader.head().method, reader.head().target, reader.head().status, reader.head().keep_alive);
        for (const auto& [name, value] : reader.head().headers) out += cat(name, ":", value, ";");
        declared = reader.head().content_length;
        got = 0;
      } else if (step == Http1Reader::Step::kBody) {
        TM_CHECK(!reader.body().empty(), "a piece has bytes");
        got += reader.body().size();
        out += reader.body();
      } else {
        TM_CHECK(reader.head().body != Http1Head::Body::kLength || got == declared, "a body is as long as it was said");
        out += "end;";
      }
    }
  }
  return out + (reader.finish() == Http1Reader::Step::kFailed ? "failed" : "done");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 6) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto kind = (data[0] & 1) != 0 ? Http1Reader::Kind::kRequests : Http1Reader::Kind::kResponses;
  const bool answers_head = (data[0] & 2) != 0;
  const std::string_view cuts = all.substr(1, 4);
  const std::string_view bytes = all.substr(5);
  TM_CHECK(story(kind, answers_head, bytes, cuts) == story(kind, answers_head, bytes, {}), "cuts change nothing");
  return 0;
}

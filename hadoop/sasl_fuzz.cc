// Any bytes as a server's SASL, and as a principal and a pattern: a bounded
// value or an error, and never a connection that is made without Kerberos having been asked.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "hadoop/sasl.h"
#include "hadoop/wire.h"

namespace {

using namespace tidemark;
using hadoop::SaslExchange;

// The input as delimited server messages; Kerberos accepts everything.
void talk(std::string_view bytes) {
  SaslExchange sasl({"rm/_HOST@R", bytes.size() % 2 == 0 ? "*" : ""},
                    {hadoop::Protection::kPrivacy, hadoop::Protection::kAuthentication}, "R");
  int steps = 0;
  int layers = 0;
  for (auto each = hadoop::take_delimited(bytes, "a message"); each;
       each = hadoop::take_delimited(bytes, "a message")) {
    const auto message = hadoop::decode_sasl(*each);
    if (!message) return;
    auto next = sasl.on_message(*message);
    while (next) {
      if (next->what == SaslExchange::Next::Do::kSend) break;
      if (next->what == SaslExchange::Next::Do::kDone) {
        TM_CHECK(steps > 0 && layers == 1, "both sides have proved who they are");
        return;
      }
      if (next->what == SaslExchange::Next::Do::kStep) {
        next = sasl.on_stepped("token", ++steps > 1);
      } else if (next->what == SaslExchange::Next::Do::kUnwrap) {
        ++layers;
        next = sasl.on_unwrapped(next->bytes);
      } else {
        TM_CHECK(next->bytes.size() == 4, "a layer and a size");
        next = sasl.on_wrapped("wrapped");
      }
    }
    if (!next) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto message = hadoop::decode_sasl(bytes);
  if (message) {
    TM_CHECK(message->methods.size() <= hadoop::kSaslMethodsMax, "bounded");
    std::string frame;
    hadoop::append_sasl(frame, *message);
    std::string_view rest = std::string_view(frame).substr(4);
    TM_CHECK(hadoop::take_delimited(rest, "header").has_value(), "what we write has a header");
    const auto body = hadoop::take_delimited(rest, "body");
    TM_CHECK(body && hadoop::decode_sasl(*body) == *message, "what is written is read as the same");
  }
  talk(bytes);
  TM_CHECK(hadoop::with_host(bytes, "h").size() <= size + 1, "a host in the place of _HOST");
  const std::size_t half = size / 2;
  hadoop::matches_glob(bytes.substr(0, half), bytes.substr(half));  // it ends
  return 0;
}

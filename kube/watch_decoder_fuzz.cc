// Any bytes, cut anywhere: the events and the end are those of the uncut bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "kube/watch_decoder.h"

namespace {

using namespace tidemark;
using namespace tidemark::kube;

constexpr std::size_t kLimit = 512;  // small, so that the limit is met

struct Kept {
  EventType type;
  std::string object;
};

struct Outcome {
  std::vector<Kept> events;
  std::optional<ErrorKind> error;
  bool between = false;
};

Outcome decode(std::string_view bytes, std::size_t piece) {
  WatchDecoder decoder(kLimit);
  Outcome outcome;
  for (std::size_t from = 0; from < bytes.size() && !outcome.error; from += piece) {
    decoder.feed(bytes.substr(from, piece));
    while (true) {
      auto event = decoder.next();
      if (!event) {
        outcome.error = event.error().kind;
        break;
      }
      if (!*event) break;
      TM_CHECK((*event)->object.front() == '{' && (*event)->object.back() == '}', "an event carries an object");
      TM_CHECK((*event)->object.size() <= kLimit, "no event passes the limit");
      outcome.events.push_back({(*event)->type, std::string((*event)->object)});
    }
    TM_CHECK(outcome.error || decoder.buffered_bytes() <= kLimit, "no more is held than one event may have");
  }
  outcome.between = decoder.between_events();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = decode(bytes, bytes.size() + 1);
  const Outcome cut = decode(bytes, static_cast<std::size_t>(data[0]) % 64 + 1);
  TM_CHECK(whole.events.size() == cut.events.size(), "a cut neither adds nor loses an event");
  for (std::size_t i = 0; i < whole.events.size(); ++i) {
    TM_CHECK(whole.events[i].type == cut.events[i].type && whole.events[i].object == cut.events[i].object,
             "a cut changes no event");
  }
  TM_CHECK(whole.error.has_value() == cut.error.has_value(), "a cut neither makes nor hides an error");
  TM_CHECK(whole.between == cut.between, "a cut does not change where the end is");
  return 0;
}

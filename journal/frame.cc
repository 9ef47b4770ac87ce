#include "journal/frame.h"

#include "base/check.h"
#include "base/hash.h"

namespace tidemark::journal {
namespace {

constexpr std::string_view kMark("TMJ\x01", 4);

template <class Number>
void put(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

template <class Number>
Number get(std::string_view bytes) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return number;
}

}  // namespace

void append_frame(std::string& out, std::string_view payload) {
  TM_CHECK(payload.size() <= kPayloadMax, "a record has an upper end");
  out += kMark;
  const std::size_t length_at = out.size();
  put(out, static_cast<std::uint32_t>(payload.size()));
  const std::string_view length(out.data() + length_at, 4);
  put(out, base::TextHash().add(length).add(payload).value());
  out += payload;
}

std::optional<std::string_view> FrameReader::next() {
  while (at_ < bytes_.size()) {
    const std::string_view rest = bytes_.substr(at_);
    if (rest.size() < kFrameHead) {
      torn_ = torn_ || rest.substr(0, kMark.size()) == kMark.substr(0, rest.size());
    } else if (rest.starts_with(kMark)) {
      const std::string_view length = rest.substr(4, 4);
      const std::size_t size = get<std::uint32_t>(length);
      const bool possible = size <= kPayloadMax;
      if (possible && rest.size() - kFrameHead >= size) {
        const std::string_view payload = rest.substr(kFrameHead, size);
        if (base::TextHash().add(length).add(payload).value() == get<std::uint64_t>(rest.substr(8, 8))) {
          at_ += kFrameHead + size;
          torn_ = false;
          return payload;
        }
        if (++false_marks_ > kFalseMarksMax) {
          passed_over_ += rest.size();
          at_ = bytes_.size();
          return std::nullopt;
        }
      } else if (possible) {
        torn_ = true;
      }
    }
    const auto mark = rest.find(kMark[0], 1);
    const std::size_t step = mark == std::string_view::npos ? rest.size() : mark;
    passed_over_ += step;
    at_ += step;
  }
  return std::nullopt;
}

}  // namespace tidemark::journal

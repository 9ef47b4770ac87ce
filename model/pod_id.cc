#include "model/pod_id.h"

#include <bit>
#include <cstddef>

namespace tidemark::model {
namespace {

// SipHash-2-4 with 128 bits of output, by Aumasson and Bernstein, under a key of our own that is no secret.
class SipHash {
 public:
  void feed(std::string_view text) {
    length_ += text.size();
    for (; text.size() >= 8; text.remove_prefix(8)) {
      std::uint64_t next = 0;
      for (unsigned i = 0; i < 8; ++i) next |= byte(text[i]) << (8 * i);  // one load where the machine is little-endian
      mix(word_ | next << (8 * held_));
      word_ = held_ == 0 ? 0 : next >> (64 - 8 * held_);
    }
    for (const char c : text) {
      word_ |= byte(c) << (8 * held_);
      if (++held_ < 8) continue;
      mix(word_);
      word_ = 0;
      held_ = 0;
    }
  }

  std::uint64_t finish() {
    mix(word_ | static_cast<std::uint64_t>(length_) << 56);
    v2_ ^= 0xee;
    rounds(4);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }
  std::uint64_t finish_second() {
    v1_ ^= 0xdd;
    rounds(4);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static std::uint64_t byte(char c) { return static_cast<unsigned char>(c); }

  void mix(std::uint64_t word) {
    v3_ ^= word;
    rounds(2);
    v0_ ^= word;
  }

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0_ += v1_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v3_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ += v3_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ += v1_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  static constexpr std::uint64_t kKey0 = 0x0706050403020100;
  static constexpr std::uint64_t kKey1 = 0x0f0e0d0c0b0a0908;
  std::uint64_t v0_ = kKey0 ^ 0x736f6d6570736575;
  std::uint64_t v1_ = kKey1 ^ 0x646f72616e646f6d ^ 0xee;
  std::uint64_t v2_ = kKey0 ^ 0x6c7967656e657261;
  std::uint64_t v3_ = kKey1 ^ 0x7465646279746573;
  std::uint64_t word_ = 0;  // the bytes of the next one that are there
  unsigned held_ = 0;       // how many
  std::size_t length_ = 0;
};

}  // namespace

PodId::PodId(std::string_view namespace_name, std::string_view name) {
  SipHash hash;
  hash.feed(namespace_name);
  hash.feed("/");  // no name of Kubernetes has one
  hash.feed(name);
  low = hash.finish();
  high = hash.finish_second();
}

}  // namespace tidemark::model

#include "model/pod_id.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>

namespace tidemark::model {
namespace {

// SipHash-2-4 with 128 bits of output, by Aumasson and Bernstein, with a fixed public key.
class SipHash {
 public:
  explicit SipHash(std::string_view text) {
    const std::uint64_t length = text.size();
    for (; text.size() >= 8; text.remove_prefix(8)) mix(word(text.data(), 8));
    mix(word(text.data(), text.size()) | length << 56);
  }

  std::uint64_t finish() {
    v2_ ^= 0xee;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }
  std::uint64_t finish_second() {
    v1_ ^= 0xdd;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static std::uint64_t word(const char* at, std::size_t bytes) {  // the first byte lowest
    std::uint64_t out = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&out, at, bytes);
    } else {
      for (std::size_t i = 0; i < bytes; ++i) out |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    return out;
  }

  void mix(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }

  void round() {
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

  static constexpr std::uint64_t kKey0 = 0x0706050403020100;
  static constexpr std::uint64_t kKey1 = 0x0f0e0d0c0b0a0908;
  std::uint64_t v0_ = kKey0 ^ 0x736f6d6570736575;
  std::uint64_t v1_ = kKey1 ^ 0x646f72616e646f6d ^ 0xee;
  std::uint64_t v2_ = kKey0 ^ 0x6c7967656e657261;
  std::uint64_t v3_ = kKey1 ^ 0x7465646279746573;
};

constexpr std::size_t kNamesMax = 63 + 1 + 253;  // bytes of a namespace and a name of Kubernetes

}  // namespace

PodId::PodId(std::string_view namespace_name, std::string_view name) {
  std::array<char, kNamesMax> room;
  std::string more;  // for names that Kubernetes would reject
  const std::size_t size = namespace_name.size() + 1 + name.size();
  if (size > room.size()) more.resize(size);
  char* const text = more.empty() ? room.data() : more.data();
  char* const end_of_namespace = std::copy(namespace_name.begin(), namespace_name.end(), text);
  *end_of_namespace = '/';  // Kubernetes names cannot contain it
  std::copy(name.begin(), name.end(), end_of_namespace + 1);
  SipHash hash({text, size});
  low = hash.finish();
  high = hash.finish_second();
}

}  // namespace tidemark::model

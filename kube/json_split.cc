#include "kube/json_split.h"

#include <bit>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tidemark::kube {
namespace {

constexpr std::size_t kBlock = 64;  // bytes looked at together: one bit of a word each

struct Masks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
};

// How a block is looked at: in small steps on any machine, and in wide ones where the processor has them.
struct Portable {
  static Masks classify(const char* at) {
    Masks masks;
#if defined(__x86_64__)
    for (unsigned part = 0; part < kBlock / 16; ++part) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + std::size_t{part} * 16));
      const auto equal = [](__m128i a, char b) {
        return static_cast<std::uint64_t>(
            static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(a, _mm_set1_epi8(b)))));
      };
      // '[' and '{' differ by one bit, and so do ']' and '}'.
      const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
      masks.quotes |= equal(bytes, '"') << (part * 16);
      masks.backslashes |= equal(bytes, '\\') << (part * 16);
      masks.opens |= equal(folded, '{') << (part * 16);
      masks.closes |= equal(folded, '}') << (part * 16);
    }
#else
    for (unsigned i = 0; i < kBlock; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i;
      masks.quotes |= at[i] == '"' ? bit : 0;
      masks.backslashes |= at[i] == '\\' ? bit : 0;
      masks.opens |= (at[i] | 0x20) == '{' ? bit : 0;
      masks.closes |= (at[i] | 0x20) == '}' ? bit : 0;
    }
#endif
    return masks;
  }

  // Bit i becomes the parity of bits 0…i: set from an opening quote up to the byte before the closing one.
  static std::uint64_t prefix_parity(std::uint64_t bits) {
    for (unsigned step = 1; step < kBlock; step *= 2) bits ^= bits << step;
    return bits;
  }
};

#if defined(__x86_64__)
#define TM_WIDE [[gnu::target("avx2,pclmul,popcnt")]]
struct Wide {
  TM_WIDE static std::uint64_t equal(__m256i low, __m256i high, char wanted) {
    const __m256i each = _mm256_set1_epi8(wanted);
    const auto bits = [](int mask) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(mask)); };
    return bits(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, each))) |
           bits(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, each))) << 32;
  }
  TM_WIDE static Masks classify(const char* at) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + kBlock / 2));
    const __m256i fold = _mm256_set1_epi8(0x20);
    const __m256i folded_low = _mm256_or_si256(low, fold);
    const __m256i folded_high = _mm256_or_si256(high, fold);
    return {equal(low, high, '"'), equal(low, high, '\\'), equal(folded_low, folded_high, '{'),
            equal(folded_low, folded_high, '}')};
  }
  // A product without carries of all ones: bit i of it is the sum of bits 0…i.
  TM_WIDE static std::uint64_t prefix_parity(std::uint64_t bits) {
    const __m128i product =
        _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<std::int64_t>(bits)), _mm_set1_epi8(-1), 0);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
  }
};

bool has_wide() {
  static const bool has =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("popcnt");
  return has;
}
#endif

// The bytes that follow a backslash which is not itself escaped. `carry` comes from and goes to the neighbouring
// blocks.
std::uint64_t escaped_bytes(std::uint64_t backslashes, bool& carry) {
  std::uint64_t escaped = carry ? 1 : 0;
  carry = false;
  backslashes &= ~escaped;
  while (backslashes != 0) {
    const int first = std::countr_zero(backslashes);
    if (first == static_cast<int>(kBlock) - 1) {
      carry = true;
      break;
    }
    escaped |= std::uint64_t{2} << first;
    backslashes &= ~(std::uint64_t{3} << first);
  }
  return escaped;
}

}  // namespace

std::optional<std::size_t> JsonSplitter::finish_at(std::size_t length) {
  const Inner ended = inner_;
  *this = JsonSplitter();
  ended_ = ended;
  return length;
}

void JsonSplitter::open(std::size_t at) {
  if (++depth_ != 2) return;
  inner_.begin = before_ + at;
  ++inner_.count;
}

bool JsonSplitter::close(std::size_t at) {
  if (--depth_ == 1) inner_.end = before_ + at + 1;
  return depth_ <= 0;
}

// Whole blocks from the beginning of `bytes`; `at` is behind the last one that was looked at.
template <class Machine>
[[gnu::always_inline]] inline std::optional<std::size_t> JsonSplitter::blocks(std::string_view bytes, std::size_t& at) {
  for (; bytes.size() - at >= kBlock; at += kBlock) {
    const Masks masks = Machine::classify(bytes.data() + at);
    std::uint64_t quotes = masks.quotes;
    if (masks.backslashes != 0 || escaped_) quotes &= ~escaped_bytes(masks.backslashes, escaped_);
    const std::uint64_t inside = Machine::prefix_parity(quotes) ^ (in_string_ ? ~std::uint64_t{0} : 0);
    in_string_ = (inside >> (kBlock - 1)) != 0;
    const std::uint64_t opens = masks.opens & ~inside;
    const std::uint64_t closes = masks.closes & ~inside;
    if (depth_ > std::popcount(closes) + 1) {  // neither it nor what is right within it can end here
      depth_ += std::popcount(opens) - std::popcount(closes);
      continue;
    }
    for (std::uint64_t left = opens | closes; left != 0; left &= left - 1) {
      const std::uint64_t bit = left & -left;
      const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(bit));
      if ((opens & bit) != 0) {
        open(place);
      } else if (close(place)) {
        return finish_at(place + 1);
      }
    }
  }
  return std::nullopt;
}

#if defined(__x86_64__)
TM_WIDE std::optional<std::size_t> JsonSplitter::wide_blocks(std::string_view bytes, std::size_t& at) {
  return blocks<Wide>(bytes, at);
}
#endif

std::optional<std::size_t> JsonSplitter::feed(std::string_view bytes, Steps steps) {
  std::size_t at = 0;
#if defined(__x86_64__)
  const auto end = steps == Steps::kWidest && has_wide() ? wide_blocks(bytes, at) : blocks<Portable>(bytes, at);
#else
  const auto end = blocks<Portable>(bytes, at);
#endif
  if (end) return end;
  for (; at < bytes.size(); ++at) {
    const char c = bytes[at];
    // As above: a backslash takes the meaning of a quote or a backslash behind it, and of nothing else.
    const bool escaped = std::exchange(escaped_, c == '\\' && !escaped_);
    if (c == '"' && !escaped) {
      in_string_ = !in_string_;
    } else if (!in_string_ && (c | 0x20) == '{') {
      open(at);
    } else if (!in_string_ && (c | 0x20) == '}' && close(at)) {
      return finish_at(at + 1);
    }
  }
  before_ += bytes.size();
  return std::nullopt;
}

}  // namespace tidemark::kube

#include "policy/sell/prediction/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/hash.h"

namespace tidemark::policy::sell {
namespace {

constexpr std::string_view kMagic = "TMPM";
constexpr std::size_t kChecksumBytes = 8;
constexpr double kTotalOff = 1e-6;   // of a sum of thousands of weights, relative
constexpr double kTotalMost = 1e60;  // 2^100 times more samples than there are

template <class Integer>
void put(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff);
  }
}

void put(std::string& out, double value) {
  put(out, std::bit_cast<std::uint64_t>(value));
}

struct Reader {
  std::string_view left;
  bool short_of = false;

  template <class Integer>
  Integer take() {
    if (left.size() < sizeof(Integer)) {
      short_of = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(left[i])} << (8 * i);
    }
    left.remove_prefix(sizeof(Integer));
    return static_cast<Integer>(value);
  }
  double take_double() { return std::bit_cast<double>(take<std::uint64_t>()); }
  std::string_view take_bytes(std::size_t n) {
    if (left.size() < n) {
      short_of = true;
      return {};
    }
    const auto out = left.substr(0, n);
    left.remove_prefix(n);
    return out;
  }
};

void put_histogram(std::string& out, const DecayingHistogram& histogram) {
  const auto weights = histogram.weights();
  std::size_t first = 0;
  std::size_t end = weights.size();
  while (first < end && weights[first] == 0) ++first;
  while (end > first && weights[end - 1] == 0) --end;
  if (first == end) first = end = 0;
  put(out, histogram.reference().since_epoch.count());
  put(out, histogram.total());
  put(out, static_cast<std::uint16_t>(first));
  put(out, static_cast<std::uint16_t>(end - first));
  for (std::size_t i = first; i < end; ++i) put(out, weights[i]);
}

Result<void> take_histogram(Reader& reader, std::string_view what, base::WallTime written,
                            DecayingHistogram& histogram) {
  const base::WallTime reference{base::Duration(reader.take<std::int64_t>())};
  const double total = reader.take_double();
  const std::size_t first = reader.take<std::uint16_t>();
  const std::size_t number = reader.take<std::uint16_t>();
  std::vector<double> weights(histogram.shape().buckets, 0.0);
  if (first + number > weights.size() || (number == 0 && first != 0)) {
    return fail(ErrorKind::kInvalid, what, ": buckets ", first, " and ", number, " more, of ", weights.size());
  }
  double sum = 0;
  for (std::size_t i = first; i < first + number; ++i) {
    weights[i] = reader.take_double();
    if (!(weights[i] >= 0 && weights[i] <= kTotalMost) || std::signbit(weights[i])) {
      return fail(ErrorKind::kInvalid, what, ": the weight of bucket ", i, " is invalid");
    }
    sum += weights[i];
  }
  if (reader.short_of) return fail(ErrorKind::kInvalid, what, ": cut off");
  if (number > 0 && (weights[first] == 0 || weights[first + number - 1] == 0)) {
    return fail(ErrorKind::kInvalid, what, ": written with empty buckets at an end");
  }
  if (!(total >= 0 && total <= kTotalMost) || std::signbit(total) || !(std::abs(total - sum) <= kTotalOff * sum)) {
    return fail(ErrorKind::kInvalid, what, ": the total is not the sum of the weights");
  }
  if (number == 0) {
    if (reference != base::WallTime()) return fail(ErrorKind::kInvalid, what, ": a reference time of no samples");
    return {};
  }
  // Any later, and new samples would have no weight beside it.
  const double age = half_lives(written, reference, histogram.shape().half_life);
  if (!(age >= -1 && age <= kHalfLivesMax + 1)) {
    return fail(ErrorKind::kInvalid, what, ": its reference time does not match its write time");
  }
  histogram.restore(weights, total, reference);
  return {};
}

}  // namespace

bool is_model_key(std::string_view key) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !key.empty() && key.size() <= kModelKeyBytesMax && key.front() != '.' && std::ranges::all_of(key, fits);
}

std::string encode_model(const ModelCheckpoint& checkpoint) {
  std::string out(kMagic);
  put(out, kModelSchema);
  put(out, kModelPolicyVersion);
  put(out, checkpoint.written.since_epoch.count());
  put(out, static_cast<std::uint16_t>(checkpoint.key.size()));
  out += checkpoint.key;
  put_histogram(out, checkpoint.cpu);
  put_histogram(out, checkpoint.memory);
  put(out, base::TextHash().add(out).value());
  return out;
}

Result<ModelCheckpoint> decode_model(std::string_view bytes) {
  if (bytes.size() > kModelCheckpointBytesMax) {
    return fail(ErrorKind::kInvalid, "a model of ", bytes.size(), " bytes, at most ", kModelCheckpointBytesMax);
  }
  if (!bytes.starts_with(kMagic)) return fail(ErrorKind::kInvalid, "not a model: it does not begin with ", kMagic);
  Reader reader{bytes.substr(kMagic.size())};
  const auto schema = reader.take<std::uint16_t>();
  const auto version = reader.take<std::uint16_t>();
  if (reader.short_of) return fail(ErrorKind::kInvalid, "the model is truncated");
  if (schema < kModelSchemaOldest || schema > kModelSchema) {
    return fail(ErrorKind::kUnsupported, "a model of schema ", schema, ", wanted ", kModelSchemaOldest, " to ",
                kModelSchema);
  }
  if (version < kModelPolicyVersionOldest || version > kModelPolicyVersion) {
    return fail(ErrorKind::kUnsupported, "a model of policy version ", version, ", wanted ", kModelPolicyVersionOldest,
                " to ", kModelPolicyVersion);
  }
  if (reader.left.size() < kChecksumBytes) return fail(ErrorKind::kInvalid, "the model is truncated");
  Reader tail{bytes.substr(bytes.size() - kChecksumBytes)};
  if (tail.take<std::uint64_t>() != base::TextHash().add(bytes.substr(0, bytes.size() - kChecksumBytes)).value()) {
    return fail(ErrorKind::kInvalid, "a model whose checksum is wrong");
  }
  reader.left.remove_suffix(kChecksumBytes);
  ModelCheckpoint out;
  out.written = {base::Duration(reader.take<std::int64_t>())};
  out.key = reader.take_bytes(reader.take<std::uint16_t>());
  if (!is_model_key(out.key)) return fail(ErrorKind::kInvalid, "a model without a usable key");
  TM_TRY_VOID(take_histogram(reader, "cpu", out.written, out.cpu));
  TM_TRY_VOID(take_histogram(reader, "memory", out.written, out.memory));
  if (!reader.left.empty()) return fail(ErrorKind::kInvalid, "a model with ", reader.left.size(), " bytes too many");
  return out;
}

}  // namespace tidemark::policy::sell

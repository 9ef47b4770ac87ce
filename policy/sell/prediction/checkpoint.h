// One model as bytes, for the disk: little-endian, each model in one way only.
//
//    "TMPM"  schema u16  policy version u16  written i64 (ns since 1970)  key: length u16, bytes
//    twice (CPU, memory): reference i64 (ns since 1970)  total f64  first bucket u16  number u16  weights f64 …
//    checksum u64 of all before it
//
// A program reads its own schema and the one before. A policy version with other weights is rejected: learning again is
// cheap, wrong numbers are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "policy/sell/prediction/histogram.h"

namespace tidemark::policy::sell {

inline constexpr std::uint16_t kModelSchema = 1;
inline constexpr std::uint16_t kModelSchemaOldest = 1;  // the one before, once there is one
inline constexpr std::uint16_t kModelPolicyVersion = 1;
inline constexpr std::uint16_t kModelPolicyVersionOldest = 1;
inline constexpr std::size_t kModelCheckpointBytesMax = 4096;
inline constexpr std::size_t kModelKeyBytesMax = 64;  // a UID has 36

struct ModelCheckpoint {
  std::string key;  // also the name of its file: letters, digits, '-', '_', '.'; it does not begin with '.'
  base::WallTime written;
  DecayingHistogram cpu{kCpuShape};
  DecayingHistogram memory{kMemoryShape};
  bool operator==(const ModelCheckpoint&) const = default;
};

bool is_model_key(std::string_view key);

std::string encode_model(const ModelCheckpoint& checkpoint);
Result<ModelCheckpoint> decode_model(std::string_view bytes);

}  // namespace tidemark::policy::sell

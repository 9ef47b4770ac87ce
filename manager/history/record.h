// One learned record as text and back: a value in the data of a ConfigMap.
//
//   base64( format, name, schema, policy version, worth, bytes, checksum )
//
// The checksum detects truncated or edited text; it is no access control. The owner defines the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidemark::manager {

inline constexpr std::size_t kHistoryNameBytesMax = 512;
inline constexpr std::size_t kHistoryRecordBytesMax = 16 * 1024;
// Of keys and values together: well under the 1 MiB that an API server takes.
inline constexpr std::size_t kHistoryShardBytesMax = 512 * 1024;
inline constexpr std::size_t kHistoryShardsMax = 8;  // of one kind: 4 MiB in all

struct HistoryRecord {
  std::string name;
  std::string bytes;
  std::uint64_t worth = 0;  // where there is no room for all, what has the least goes first
  bool operator==(const HistoryRecord&) const = default;
};

// Of the bytes of a record. A reader takes its own schema and the one before.
struct HistoryVersion {
  std::int64_t schema = 1;
  std::int64_t policy = 1;  // counts up when the same bytes would be made differently
  bool operator==(const HistoryVersion&) const = default;
};

struct StoredRecord {
  HistoryRecord record;
  HistoryVersion version;
};

std::string history_key(std::string_view name);  // 16 digits: any name has one that a ConfigMap takes
std::size_t history_shard(std::string_view name, std::size_t shards);

std::string encode_history(const HistoryRecord& record, HistoryVersion version);
Result<StoredRecord> decode_history(std::string_view key, std::string_view text);

// What of `records` fits into one shard beside `taken` bytes of others, as keys and texts; the rest is only counted.
struct ShardContent {
  std::vector<std::pair<std::string, std::string>> texts;  // by key
  std::size_t bytes = 0;
  std::size_t dropped = 0;
};
ShardContent fill_shard(std::vector<HistoryRecord> records, HistoryVersion version, std::size_t taken);

}  // namespace tidemark::manager

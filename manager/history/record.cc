#include "manager/history/record.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "journal/record.h"

namespace tidemark::manager {
namespace {

constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kChecksumBytes = 8;

std::string checksum_of(std::string_view bytes) {
  std::uint64_t value = base::TextHash().add(bytes).value();
  std::string out;
  for (std::size_t i = 0; i < kChecksumBytes; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
  return out;
}

}  // namespace

std::string history_key(std::string_view name) {
  return base::TextHash().add(name).hex();
}

std::size_t history_shard(std::string_view name, std::size_t shards) {
  // The hash of names that are nearly alike differs in few bits: they are spread over all before some are taken.
  std::uint64_t bits = base::TextHash().add(name).value();
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::size_t>((bits ^ (bits >> 31)) % std::max<std::size_t>(shards, 1));
}

std::string encode_history(const HistoryRecord& record, HistoryVersion version) {
  std::string bytes;
  journal::Packer packer(bytes);
  packer.natural(kFormat);
  packer.text(record.name);
  packer.number(version.schema);
  packer.number(version.policy);
  packer.natural(record.worth);
  packer.text(record.bytes);
  return base::base64_encode(bytes + checksum_of(bytes));
}

Result<StoredRecord> decode_history(std::string_view key, std::string_view text) {
  constexpr std::size_t kTextMax = (kHistoryNameBytesMax + kHistoryRecordBytesMax + 64) * 4 / 3 + 4;
  if (text.size() > kTextMax) {
    return fail(ErrorKind::kInvalid, text.size(), " bytes; a record has at most ", kTextMax);
  }
  const auto decoded = base::base64_decode(text);
  if (!decoded) return fail(ErrorKind::kInvalid, "not base64");
  if (decoded->size() < kChecksumBytes) return fail(ErrorKind::kInvalid, "too short for a record");
  const std::string_view bytes = std::string_view(*decoded).substr(0, decoded->size() - kChecksumBytes);
  if (checksum_of(bytes) != std::string_view(*decoded).substr(bytes.size())) {
    return fail(ErrorKind::kInvalid, "its checksum is wrong: it was cut or edited");
  }
  journal::Unpacker unpacker(bytes);
  if (unpacker.natural() != kFormat) return fail(ErrorKind::kUnsupported, "of a form that is not known here");
  StoredRecord stored;
  stored.record.name = unpacker.text();
  stored.version.schema = unpacker.number();
  stored.version.policy = unpacker.number();
  stored.record.worth = unpacker.natural();
  stored.record.bytes = unpacker.text();
  if (!unpacker.at_end()) return fail(ErrorKind::kInvalid, "not a whole record");
  if (history_key(stored.record.name) != key) {
    return fail(ErrorKind::kInvalid, "the record of ", base::in_quotes(stored.record.name), " under another's key");
  }
  return stored;
}

ShardContent fill_shard(std::vector<HistoryRecord> records, HistoryVersion version, std::size_t taken) {
  std::sort(records.begin(), records.end(), [](const HistoryRecord& a, const HistoryRecord& b) {
    return a.worth != b.worth ? a.worth > b.worth : a.name < b.name;
  });
  ShardContent content;
  content.bytes = taken;
  for (const HistoryRecord& record : records) {
    if (record.name.size() > kHistoryNameBytesMax || record.bytes.size() > kHistoryRecordBytesMax) {
      ++content.dropped;
      continue;
    }
    std::string key = history_key(record.name);
    std::string text = encode_history(record, version);
    const std::size_t bytes = key.size() + text.size();
    if (content.bytes + bytes > kHistoryShardBytesMax) {
      ++content.dropped;
      continue;
    }
    content.bytes += bytes;
    content.texts.emplace_back(std::move(key), std::move(text));
  }
  std::sort(content.texts.begin(), content.texts.end());
  // Two names with one key: the more useful one would be read back as the other's neighbour, so one stays.
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto rest = std::unique(content.texts.begin(), content.texts.end(), same);
  content.dropped += static_cast<std::size_t>(content.texts.end() - rest);
  content.texts.erase(rest, content.texts.end());
  return content;
}

}  // namespace tidemark::manager

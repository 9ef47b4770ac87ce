#include "manager/history/record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

HistoryRecord record_of(std::string name, std::size_t bytes, std::uint64_t worth) {
  return {std::move(name), std::string(bytes, '\x7f'), worth};
}

TEST(HistoryRecord, RoundTrips) {
  const HistoryRecord record{"apps/Deployment/shop/web", std::string("\0\xff\x80", 3), 77};
  const auto stored = decode_history(history_key(record.name), encode_history(record, {4, 9}));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->record, record);
  EXPECT_EQ(stored->version, (HistoryVersion{4, 9}));
}

TEST(HistoryRecord, RefusesTruncatedEditedOrMovedRecords) {
  const HistoryRecord record = record_of("a", 40, 1);
  const std::string text = encode_history(record, {});
  const std::string key = history_key("a");
  EXPECT_FALSE(decode_history(key, ""));
  EXPECT_FALSE(decode_history(key, "not base64!"));
  EXPECT_FALSE(decode_history(key, text.substr(0, text.size() - 4)));
  EXPECT_FALSE(decode_history(history_key("b"), text)) << "under another's key";
  EXPECT_FALSE(decode_history(key, std::string(100'000, 'A')));
  for (std::size_t i = 0; i + 4 < text.size(); ++i) {
    std::string edited = text;
    edited[i] = edited[i] == 'Q' ? 'R' : 'Q';
    EXPECT_FALSE(decode_history(key, edited)) << i;
  }
}

TEST(HistoryRecord, ShardKeepsTheMostValuableRecords) {
  std::vector<HistoryRecord> records;
  for (std::uint64_t i = 0; i < 200; ++i) records.push_back(record_of(base::cat("r", i), 4096, i));
  const auto all = fill_shard(records, {}, 0);
  ASSERT_GT(all.dropped, 0U);
  EXPECT_EQ(all.texts.size() + all.dropped, records.size());
  std::size_t bytes = 0;
  for (const auto& [key, text] : all.texts) bytes += key.size() + text.size();
  EXPECT_EQ(bytes, all.bytes);
  EXPECT_LE(bytes, kHistoryShardBytesMax);
  for (std::uint64_t i = 0; i < all.dropped; ++i) {
    const auto key = history_key(base::cat("r", i));
    EXPECT_TRUE(std::ranges::none_of(all.texts, [&](const auto& each) { return each.first == key; })) << i;
  }
  const auto less = fill_shard(records, {}, kHistoryShardBytesMax / 2);
  EXPECT_GT(less.dropped, all.dropped);
  std::reverse(records.begin(), records.end());
  EXPECT_EQ(fill_shard(records, {}, 0).texts, all.texts) << "their order leaves no trace";
}

TEST(HistoryRecord, OmitsAndCountsOversizedRecords) {
  const auto content = fill_shard({record_of("big", kHistoryRecordBytesMax + 1, 9),
                                   record_of(std::string(kHistoryNameBytesMax + 1, 'n'), 1, 9), record_of("ok", 1, 0)},
                                  {}, 0);
  EXPECT_EQ(content.texts.size(), 1U);
  EXPECT_EQ(content.dropped, 2U);
}

TEST(HistoryRecord, NamesSpreadOverTheShards) {
  std::vector<int> counts(kHistoryShardsMax);
  for (int i = 0; i < 8000; ++i) ++counts[history_shard(base::cat("apps/Deployment/ns/web-", i), counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 200);
  EXPECT_EQ(history_shard("x", 0), 0U);
}

}  // namespace
}  // namespace tidemark::manager

#include "manager/maps/owned_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using testing::kConfigPath;

constexpr base::Duration kLimit = std::chrono::seconds(4);

class OwnedMapTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "a");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
  }
  kube::ConfigMap decoded(std::string_view bytes) {
    return *kube::decode_config_map(bytes, {{}, kube::KeyFilter::all()}, kube::KeyFilter::all(), interner);
  }
  OwnedMap map() {
    return {"koordinator-system", "kept",
            [this](std::string_view bytes) -> Result<kube::ConfigMap> { return decoded(bytes); }, kLimit};
  }
  template <class T>
  T done(net::Task<T> task) {
    return net::testing::run_task(loop, clock, std::move(task));
  }
  Json there() { return must("GET", base::cat(kConfigPath, "/kept"), nullptr); }

  kube::Interner interner;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
};

TEST_F(OwnedMapTest, CreatesAndUpdatesWithoutOverwritingOthers) {
  OwnedMap first = map();
  EXPECT_FALSE(first.exists());
  ASSERT_TRUE(done(first.write(*client, {{"a", "1"}, {"b", "1"}}, {{"epoch", "1"}})));
  EXPECT_TRUE(first.exists());
  EXPECT_FALSE(first.reference().uid.empty());
  const auto second = done(map().write(*client, {{"a", "0"}}));
  ASSERT_FALSE(second) << "it took what is there for nothing";
  EXPECT_EQ(second.error().kind, ErrorKind::kAlreadyExists);

  OwnedMap other = map();
  ASSERT_TRUE(done(other.read(*client)));
  ASSERT_TRUE(done(first.write(*client, {{"a", "2"}, {"b", std::nullopt}})));
  EXPECT_EQ(there().text_at("data", "a"), "2");
  EXPECT_FALSE(there().member("data")->member("b"));
  EXPECT_EQ(there().text_at("metadata", "annotations", "epoch"), "1") << "what is not named stays";
  const auto late = done(other.write(*client, {{"a", "3"}}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(there().text_at("data", "a"), "2");
  const auto read = done(other.read(*client));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->data.get("a"), "2");
  EXPECT_TRUE(done(other.write(*client, {{"a", "3"}})));
}

TEST_F(OwnedMapTest, IgnoresLateWatchEvents) {
  OwnedMap owned = map();
  ASSERT_TRUE(done(owned.write(*client, {{"a", "1"}})));
  const kube::ConfigMap before = decoded(there().dump());
  ASSERT_TRUE(done(owned.write(*client, {{"a", "2"}})));
  EXPECT_FALSE(owned.take(&before));
  EXPECT_TRUE(done(owned.write(*client, {{"a", "3"}}))) << "over what is there, not over what the watch brought";
  // Another object under the name counts from its own beginning.
  kube::ConfigMap another = before;
  another.meta.uid = kube::Text::plain("another");
  EXPECT_TRUE(owned.take(&another));
  EXPECT_TRUE(owned.take(nullptr));
  EXPECT_FALSE(owned.exists());
}

}  // namespace
}  // namespace tidemark::manager

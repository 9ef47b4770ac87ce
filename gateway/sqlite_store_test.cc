#include "gateway/sqlite_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gateway/testing/store_suite.h"

namespace tidemark::gateway {
namespace {

class Folder {
 public:
  Folder() {
    char made[] = "/tmp/tidemark-store-XXXXXX";
    path_ = mkdtemp(made);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file() const { return path_ + "/runs.db"; }

 private:
  std::string path_;
};

struct SqliteOpener {
  static bool there() { return true; }
  std::unique_ptr<Store> open(net::EventLoop& loop) { return *open_sqlite_store(loop, folder.file(), 1); }
  Folder folder;
};

class SqliteStoreTest : public ::testing::Test {
 protected:
  Folder folder_;
  base::SystemClock clock_;
  net::EventLoop loop_{clock_};
};

TEST_F(SqliteStoreTest, RefusesASecondProcess) {
  const auto store = *open_sqlite_store(loop_, folder_.file(), 1);
  const auto second = open_sqlite_store(loop_, folder_.file(), 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable) << second.error().message;
}

TEST_F(SqliteStoreTest, RefusesAFileOfAnotherKind) {
  std::ofstream(folder_.file()) << std::string(8192, 'x');
  const auto store = open_sqlite_store(loop_, folder_.file(), 1);
  ASSERT_FALSE(store);
  EXPECT_TRUE(store.error().message.contains(folder_.file())) << store.error().message;
}

}  // namespace

namespace testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreTest, SqliteOpener);
}  // namespace testing

}  // namespace tidemark::gateway

#include "agent/prediction/model_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "linux/testing/tree.h"
#include "policy/sell/prediction/models.h"

namespace tidemark::agent {
namespace {

using policy::sell::ModelCheckpoint;

ModelCheckpoint model_of(const std::string& key) {
  ModelCheckpoint model;
  model.key = key;
  model.written = base::WallTime{std::chrono::seconds(1000)};
  return model;
}

std::vector<std::string> keys(const std::vector<ModelCheckpoint>& models) {
  std::vector<std::string> all;
  for (const auto& model : models) all.push_back(model.key);
  return all;
}

class ModelStore : public ::testing::Test {
 protected:
  StoreOutcome put(const std::vector<std::string>& put, const std::vector<std::string>& dropped = {}) {
    std::vector<StoredModel> models;
    for (const auto& key : put) models.push_back({key, policy::sell::encode_model(model_of(key))});
    return store_models(folder, models, dropped);
  }
  linux::testing::Tree tree;
  std::string folder = tree.root() + "/state/models";
};

TEST_F(ModelStore, MissingFolderIsEmpty) {
  const auto loaded = load_models(folder);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->models.empty());
  EXPECT_TRUE(loaded->refused.empty());
}

TEST_F(ModelStore, StoresAndRemovesModels) {
  ASSERT_FALSE(put({"u1", "u2", "__node__"}).error);
  ASSERT_FALSE(put({"u3"}, {"u1", "never-there"}).error);
  const auto loaded = load_models(folder);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(keys(loaded->models), (std::vector<std::string>{"__node__", "u2", "u3"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
}

TEST_F(ModelStore, NamesInvalidFileAndReadsTheRest) {
  ASSERT_FALSE(put({"u1", "u2"}).error);
  std::ofstream(folder + "/u3") << "no model";
  std::ofstream(folder + "/u4") << std::string(policy::sell::kModelCheckpointBytesMax + 1, 'x');
  std::filesystem::copy_file(folder + "/u1", folder + "/u5");
  std::filesystem::create_symlink("u1", folder + "/u6");
  std::filesystem::create_directory(folder + "/u7");
  std::filesystem::resize_file(folder + "/u2", 20);  // half of it reached the disk
  const auto loaded = load_models(folder);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(keys(loaded->models), (std::vector<std::string>{"u1"}));
  ASSERT_EQ(loaded->refused.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NE(loaded->refused[i].find(base::cat(folder, "/u", i + 2)), std::string::npos) << loaded->refused[i];
  }
}

TEST_F(ModelStore, RefusesKeyThatLeavesFolder) {
  for (const char* key : {"../u1", "a/b", "", ".", "..", ".hidden"}) {
    const std::vector<StoredModel> models{{key, "x"}};
    EXPECT_TRUE(store_models(folder, models, {}).error) << key;
    EXPECT_FALSE(put({}, {key}).error) << key;
  }
  EXPECT_TRUE(std::filesystem::exists(folder));
}

TEST_F(ModelStore, FailsIfFolderCannotBeCreated) {
  std::filesystem::create_directories(tree.root() + "/state");
  std::ofstream(folder) << "a file";
  const auto stored = put({"u1"});
  ASSERT_TRUE(stored.error);
  EXPECT_NE(stored.error->message.find(folder), std::string::npos) << stored.error->message;
  EXPECT_TRUE(stored.stored.empty());
}

TEST_F(ModelStore, FailedStoreDoesNotStopOthers) {
  std::filesystem::create_directories(folder + "/u1/not-empty");
  ASSERT_FALSE(put({"u4"}).error);
  const StoreOutcome stored = put({"u0", "u1", "u2"}, {"u1", "u4"});
  ASSERT_TRUE(stored.error);
  EXPECT_NE(stored.error->message.find(folder + "/u1"), std::string::npos) << stored.error->message;
  EXPECT_EQ(stored.stored, (std::vector<std::string>{"u0", "u2"}));
  EXPECT_EQ(keys(load_models(folder)->models), (std::vector<std::string>{"u0", "u2"}));
}

}  // namespace
}  // namespace tidemark::agent

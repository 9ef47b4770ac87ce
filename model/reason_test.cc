#include "model/reason.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/testing/source_dir.h"

namespace tidemark::model {
namespace {

// Dashboards, alerts and runbooks are written against these ids. A line of the file may be added, never changed.
TEST(Reasons, MatchTheReleasedList) {
  std::ifstream file(base::testing::from_root("model/testdata/reasons.txt"));
  ASSERT_TRUE(file.good());
  std::stringstream released;
  released << file.rdbuf();
  std::string now;
  for (const auto& row : all_reasons()) now.append(row.id).append("  ").append(row.sentence).append("\n");
  EXPECT_EQ(now, released.str());
}

TEST(Reasons, EachIdIsUsedOnceAndWellFormed) {
  std::set<std::string_view> ids;
  for (const auto& row : all_reasons()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_EQ(row.id.substr(0, 3), "TM-");
    EXPECT_EQ(row.id.find_first_not_of("0123456789", row.id.size() - 3), std::string_view::npos) << row.id;
    EXPECT_EQ(reason_id(row.reason), row.id);
    EXPECT_EQ(reason_sentence(row.reason), row.sentence);
  }
}

}  // namespace
}  // namespace tidemark::model

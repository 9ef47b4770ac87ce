#include "linux/psi.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

TEST(Psi, BothLines) {
  const auto read = parse_pressure(
      "some avg10=3.03 avg60=0.07 avg300=100.00 total=27951462997\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->some->avg10_centi, 303);
  EXPECT_EQ(read->some->avg60_centi, 7);
  EXPECT_EQ(read->some->avg300_centi, 10'000);
  EXPECT_EQ(read->some->total_us, 27'951'462'997);
  EXPECT_EQ(read->full->total_us, 0);
}

TEST(Psi, OneLineIsEnough) {
  const auto old = parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->full);
  const auto irq = parse_pressure("full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  ASSERT_TRUE(irq);
  EXPECT_FALSE(irq->some);
}

TEST(Psi, GarbageIsNotZeroPressure) {
  for (const std::string_view text :
       {"", "\n", "some\n", "some avg10=0.00 avg60=0.00 avg300=0.00\n", "some avg10=x avg60=0.00 avg300=0.00 total=0\n",
        "some avg10=0.0 avg60=0.00 avg300=0.00 total=0\n", "some avg10=0.00 avg60=0.00 avg300=0.00 total=-1\n",
        "some avg10=100.01 avg60=0.00 avg300=0.00 total=0\n", "some avg60=0.00 avg10=0.00 avg300=0.00 total=0\n",
        "all avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0 x\n"}) {
    EXPECT_FALSE(parse_pressure(text)) << text;
  }
}

TEST(Psi, KernelWithoutItIsUnsupported) {
  testing::Tree tree;
  tree.write("pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
  tree.write("pressure/io", "nonsense\n");
  Buffer buffer;
  const auto proc = Folder::open(tree.root()).value();
  EXPECT_EQ(read_pressure(proc, "pressure/cpu", buffer)->some->avg10_centi, 100);
  const auto missing = read_pressure(proc, "pressure/irq", buffer);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUnsupported);
  const auto broken = read_pressure(proc, "pressure/io", buffer);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(broken.error().message.find(tree.path("pressure/io")), std::string::npos);
}

}  // namespace
}  // namespace tidemark::linux

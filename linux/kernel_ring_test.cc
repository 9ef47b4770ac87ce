#include "linux/kernel_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/text.h"
#include "linux/kmsg.h"

namespace tidemark::linux {
namespace {

TEST(KernelRing, ALine) {
  const auto read = parse_ring_line("<30>[25126.956670] eth0: link; up [1] <2>");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->priority, 6) << "30 is priority 6 of facility 3";
  EXPECT_EQ(read->since_boot_us, 25'126'956'670);
  EXPECT_EQ(read->text, "eth0: link; up [1] <2>");
  EXPECT_EQ(parse_ring_line("<4>[    0.000001] x")->since_boot_us, 1);
  EXPECT_EQ(parse_ring_line("<4>[    1.000000][    T1] [T2] x")->text, "[T2] x") << "the caller is none of the text";
  EXPECT_EQ(parse_ring_line("<4>[    1.000000] ")->text, "");
}

TEST(KernelRing, RefusesInvalidLine) {
  for (const std::string_view line :
       {"", "x", "<4>", "<4> x", "<4>x", "<4>[1.0] x", "<4>[.000000] x", "<4>[1000000] x", "<4>[1.-00001] x",
        "<x>[1.000000] x", "[1.000000] x", "<4>[1.000000]x", "<4>[1.000000", "<4>[9223372036855.000000] x"}) {
    EXPECT_FALSE(parse_ring_line(line)) << line;
  }
}

TEST(KernelRing, NewLinesFollowTheLastLine) {
  const auto behind = [](std::string_view text, std::string_view last) {
    const NewLines found = lines_behind(text, last);
    return base::cat(found.text, found.missed ? "(missed)" : "");
  };
  EXPECT_EQ(behind("a\nb\nc\n", "b"), "c\n");
  EXPECT_EQ(behind("a\nb\nc\n", "c"), "");
  EXPECT_EQ(behind("a\nb\nc", "c"), "");
  EXPECT_EQ(behind("a\nb\na\nc\n", "a"), "c\n") << "of two that are alike it was the second";
  EXPECT_EQ(behind("a\nb\n", ""), "a\nb\n") << "nothing was seen before";
  EXPECT_EQ(behind("xa\nab\n", "a"), "xa\nab\n(missed)") << "a part of a line is another one";
  EXPECT_EQ(behind("d\ne\n", "c"), "d\ne\n(missed)") << "pushed out, or cleared by another program";
  EXPECT_EQ(behind("", "c"), "(missed)");
}

// What one writes to /dev/kmsg the other hands out.
TEST(KernelRing, TheMachinesOwn) {
  auto log = KernelLog::open(std::string(kBySyslog), KernelLog::From::kNow);
  if (!log) GTEST_SKIP() << log.error().message;
  EXPECT_FALSE(log->next().value()) << "what was said before is not told";
  const int device = ::open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
  if (device < 0) GTEST_SKIP() << "may not write /dev/kmsg";
  const std::string text = base::cat("tidemark test ", ::getpid());
  const std::string line = text + "\n";  // without its end the kernel waits for more of it
  ASSERT_EQ(::write(device, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  ::close(device);
  int seen = 0;
  for (auto next = log->next(); next && *next; next = log->next()) {  // and whatever else the machine says meanwhile
    seen += (*next)->text == text ? 1 : 0;
    if (seen > 0) EXPECT_GT((*next)->since_boot_us, 0);
  }
  EXPECT_EQ(seen, 1);
  for (auto next = log->next(); next && *next; next = log->next()) EXPECT_NE((*next)->text, text) << "told once";
  EXPECT_EQ(log->lost(), 0);
}

}  // namespace
}  // namespace tidemark::linux

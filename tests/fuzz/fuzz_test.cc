// Each fuzzer on its committed corpus and on some thousand mutations of it, always the same ones. ./dev test long runs
// them for hours.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "tests/fuzz/entries.h"

namespace tidemark::tests {

std::ostream& operator<<(std::ostream& out, const FuzzEntry& entry) {
  return out << entry.name;
}

namespace {

using namespace std::string_view_literals;

constexpr int kMutations = 3000;
constexpr std::size_t kInputMax = 4096;  // bytes
constexpr int kEditsMax = 6;

constexpr std::string_view kPieces[] = {
    ""sv,      "{}"sv,  "[]"sv, "null"sv,    "true"sv, "0"sv,    "-1"sv,       "9223372036854775808"sv,
    "1e999"sv, "0.5"sv, "\""sv, "\\u0000"sv, "\0"sv,   "\xff"sv, "\xc3\xa4"sv, "\n"sv,
    "\r\n"sv,  ": "sv,  ","sv,  "{"sv,       "}"sv,    "["sv,    "]"sv,        "-"sv,
    "%"sv,     "*"sv,
};

std::vector<std::string> corpus_of(const FuzzEntry& entry) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(entry.corpus)) {
    for (const auto& file : std::filesystem::directory_iterator(entry.corpus)) files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> out;
  for (const auto& file : files) {
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    out.push_back(bytes.str());
  }
  return out;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string out = any_seed();
    for (std::uint64_t edits = 1 + random_.below(kEditsMax); edits > 0; --edits) edit(out);
    out.resize(std::min(out.size(), kInputMax));
    return out;
  }

 private:
  std::string any_seed() { return seeds_[static_cast<std::size_t>(random_.below(seeds_.size()))]; }
  std::size_t place(const std::string& in) { return static_cast<std::size_t>(random_.below(in.size() + 1)); }

  void edit(std::string& out) {
    const std::size_t at = place(out);
    const auto length = static_cast<std::size_t>(random_.below(16));
    switch (random_.below(7)) {
      case 0:
        out.insert(at, kPieces[random_.below(std::size(kPieces))]);
        break;
      case 1:
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), static_cast<char>(random_.below(256)));
        break;
      case 2:
        out.erase(at, length);
        break;
      case 3:
        if (at < out.size()) out[at] = static_cast<char>(out[at] ^ (1 << random_.below(8)));
        break;
      case 4:
        out.insert(at, out.substr(place(out), length));
        break;
      case 5:
        out.replace(at, length, kPieces[random_.below(std::size(kPieces))]);
        break;
      default: {
        const std::string other = any_seed();
        out = out.substr(0, at) + other.substr(place(other));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  base::Random random_;
};

class Fuzzer : public ::testing::TestWithParam<FuzzEntry> {};

// The current input, for the handler of a failed check: it is printed in hex, to be added to the corpus.
const std::vector<std::uint8_t>* tried = nullptr;

void tell_input(int) {
  constexpr char kHex[] = "0123456789abcdef";
  static char text[2 * kInputMax + 1];
  std::size_t length = 0;
  for (std::size_t i = 0; tried != nullptr && i < tried->size() && length + 2 < sizeof text; ++i) {
    text[length++] = kHex[(*tried)[i] >> 4];
    text[length++] = kHex[(*tried)[i] & 0xf];
  }
  text[length++] = '\n';
  static_cast<void>(!::write(STDERR_FILENO, "fuzz_test: failed on the input (xxd -r -p): ", 44));
  static_cast<void>(!::write(STDERR_FILENO, text, length));
}

// In a block of exactly its size, so that the sanitizer detects one byte past it.
void run(const FuzzEntry& entry, const std::string& input) {
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  tried = &bytes;
  std::signal(SIGABRT, tell_input);
  ASSERT_EQ(entry.run(bytes.data(), bytes.size()), 0);
}

TEST_P(Fuzzer, FindsNoFailureQuickly) {
  const FuzzEntry& entry = GetParam();
  std::vector<std::string> seeds = corpus_of(entry);
  if (seeds.empty()) seeds.emplace_back();
  for (const std::string& seed : seeds) run(entry, seed);
  for (const std::string_view piece : kPieces) run(entry, std::string(piece));
  Mutator mutator(seeds, base::TextHash().add(entry.name).value());
  for (int i = 0; i < kMutations; ++i) run(entry, mutator.next());
}

INSTANTIATE_TEST_SUITE_P(All, Fuzzer, ::testing::ValuesIn(fuzz_entries()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tidemark::tests

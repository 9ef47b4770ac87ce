#include "linux/cpu_set.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::uint64_t bit(int cpu) {
  return std::uint64_t{1} << (cpu % 64);
}

std::size_t word(int cpu) {
  TM_CHECK(cpu >= 0 && cpu < CpuSet::kCpusMax, "a processor that a set can hold");
  return static_cast<std::size_t>(cpu) / 64;
}

}  // namespace

Result<CpuSet> CpuSet::parse(std::string_view list) {
  const auto refused = [&] {
    return fail(ErrorKind::kInvalid, "a list of processors below ", kCpusMax, " such as 0-3,8 is wanted, found ",
                base::in_quotes(list));
  };
  CpuSet out;
  std::string_view rest = without_line_end(list);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view range = rest.substr(0, end);
    if (end + 1 == rest.size()) return refused();  // a comma and nothing behind it
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_count(range.substr(0, dash));
    const auto last = dash == range.size() ? first : parse_count(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= kCpusMax) return refused();
    for (auto cpu = *first; cpu <= *last; ++cpu) out.add(static_cast<int>(cpu));
  }
  return out;
}

std::string CpuSet::text() const {
  std::string out;
  for (int first = next(0); first >= 0;) {
    int last = first;
    while (last + 1 < kCpusMax && contains(last + 1)) ++last;
    if (!out.empty()) out.push_back(',');
    out += base::cat(first);
    if (last > first) out += base::cat('-', last);
    first = next(last + 1);
  }
  return out;
}

bool CpuSet::contains(int cpu) const {
  return cpu >= 0 && cpu < kCpusMax && (words_[word(cpu)] & bit(cpu)) != 0;
}

void CpuSet::add(int cpu) {
  words_[word(cpu)] |= bit(cpu);
}

void CpuSet::remove(int cpu) {
  words_[word(cpu)] &= ~bit(cpu);
}

int CpuSet::count() const {
  int out = 0;
  for (const std::uint64_t one : words_) out += std::popcount(one);
  return out;
}

int CpuSet::next(int from) const {
  for (int cpu = std::max(from, 0); cpu < kCpusMax;) {
    const std::uint64_t left = words_[word(cpu)] >> (cpu % 64);
    if (left != 0) return cpu + std::countr_zero(left);
    cpu = (cpu / 64 + 1) * 64;
  }
  return -1;
}

CpuSet operator|(CpuSet a, const CpuSet& b) {
  for (std::size_t i = 0; i < CpuSet::kWords; ++i) a.words_[i] |= b.words_[i];
  return a;
}

CpuSet operator&(CpuSet a, const CpuSet& b) {
  for (std::size_t i = 0; i < CpuSet::kWords; ++i) a.words_[i] &= b.words_[i];
  return a;
}

CpuSet operator-(CpuSet a, const CpuSet& b) {
  for (std::size_t i = 0; i < CpuSet::kWords; ++i) a.words_[i] &= ~b.words_[i];
  return a;
}

}  // namespace tidemark::linux

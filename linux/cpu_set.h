// A set of processors, as the kernel writes it: "0-3,8,10-11".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::linux {

class CpuSet {
 public:
  static constexpr int kCpusMax = 4096;

  // Also the empty list, which a new cpuset of v1 has until it is filled.
  static Result<CpuSet> parse(std::string_view list);
  std::string text() const;

  bool contains(int cpu) const;
  void add(int cpu);  // 0..kCpusMax-1
  void remove(int cpu);
  int count() const;
  bool empty() const { return count() == 0; }
  int next(int from) const;  // the first at `from` or behind it; -1: none

  friend CpuSet operator|(CpuSet a, const CpuSet& b);
  friend CpuSet operator&(CpuSet a, const CpuSet& b);
  friend CpuSet operator-(CpuSet a, const CpuSet& b);
  bool operator==(const CpuSet&) const = default;

 private:
  static constexpr std::size_t kWords = kCpusMax / 64;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace tidemark::linux

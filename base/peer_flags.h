// Flags of Koordinator's programs for parts that do not exist here. They are accepted, so that its manifests need only
// another image, and flags without effect are reported once at the start. Flags of its logger (klog) come with each of
// its programs.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flags.h"

namespace tidemark::base {

struct PeerFlag {
  enum class Kind : std::uint8_t { kText, kSwitch, kOnly };  // kOnly: refused where it asks for another value

  std::string_view name;  // as the peer has it
  Kind kind = Kind::kText;
  std::string_view anyway;  // the value that asks for what happens here without it
  std::string_view why;     // any other has no effect
};
// As `anyway`: every value asks for what happens anyway.
inline constexpr std::string_view kAnyValue = "*";
inline constexpr std::string_view kNoProfiles = "no profiles are served";  // why --enable-pprof and --pprof-addr do not

class PeerFlags {
 public:
  // Of the program, beside those of its logger. They must live as long as this.
  explicit PeerFlags(std::span<const PeerFlag> own) : own_(own) {}
  void declare(Flags& flags);  // before parse(); lives until after it

  // Flags given without effect: a sentence each. Silent if the value matches the actual behavior.
  std::vector<std::string> without_effect(const Flags::Parsed& parsed) const;

 private:
  std::span<const PeerFlag> own_;
  std::deque<std::string> texts_;
  std::deque<bool> switches_;
};

}  // namespace tidemark::base

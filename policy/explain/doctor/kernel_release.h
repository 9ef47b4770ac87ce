// The features of a kernel that its release ("5.10.134-13.an8.x86_64") shows. Only a trial on the node shows what it
// really accepts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::policy::explain {

struct KernelRelease {
  std::int64_t major = 0, minor = 0;
  // From a vendor whose kernels have their own knob for CPU priority: Anolis and Alibaba Cloud Linux (.an8, .al8:
  // cpu.bvt_warp_ns), openEuler (.oe2203: cpu.qos_level).
  bool own_priority = false;
  bool of_anolis = false;  // or Alibaba Cloud Linux: theirs have pressure from 4.19 on
  bool operator==(const KernelRelease&) const = default;

  bool at_least(std::int64_t wanted_major, std::int64_t wanted_minor) const {
    return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
  }
  bool has_priority() const { return own_priority || at_least(5, 15); }   // cpu.idle
  bool has_pressure() const { return at_least(4, of_anolis ? 19 : 20); }  // /proc/pressure
};

// nullopt: it does not start with two numbers.
std::optional<KernelRelease> parse_kernel_release(std::string_view text);

// The minor version of "v1.31.4+k3s1": 31. nullopt if the major version is not 1.
std::optional<std::int64_t> kubernetes_minor(std::string_view version);

}  // namespace tidemark::policy::explain

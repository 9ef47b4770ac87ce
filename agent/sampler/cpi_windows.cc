#include "agent/sampler/cpi_windows.h"

namespace tidemark::agent {

void CpiWindows::begin(const Pass& pass) {
  close();
  if (!missing_) until_ = pass.report.at + options_.window;
}

bool CpiWindows::take(const Pass& pass, TaskHandle handle, const linux::Group& group, const linux::CpuSet& cpus) {
  if (!open()) return false;
  const std::size_t wanted = options_.events.size() * static_cast<std::size_t>(cpus.count());
  if (wanted == 0 || descriptors_ + wanted > options_.descriptors_max) return false;
  const linux::Directory* directory = group.directory(linux::Controller::kPerfEvent);
  if (!directory) return true;  // not in that hierarchy: nothing to count
  auto counters = linux::PerfCounters::open(*directory, cpus, options_.events);
  if (!counters) {
    const Error& error = counters.error();
    if (error.kind == ErrorKind::kUnsupported || error.kind == ErrorKind::kDenied) {
      missing_ = error.message;
      close();
      return false;
    }
    pass.note(error);
    return true;
  }
  counted_.push_back({handle, std::move(*counters)});
  descriptors_ += wanted;
  return true;
}

std::optional<CpiUse> CpiWindows::read(const Pass& pass, const Counted& one) const {
  const auto counts = one.counters.read();
  if (!counts) {
    pass.note(counts.error());
    return std::nullopt;
  }
  if (counts->running_ns == 0 || counts->values[1] <= 0) return std::nullopt;  // it did not run, or was not counted
  return CpiUse{counts->values[0], counts->values[1]};
}

void CpiWindows::close() {
  counted_.clear();
  descriptors_ = 0;
  until_.reset();
}

}  // namespace tidemark::agent

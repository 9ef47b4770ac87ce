// A probe of a container that runs: asked again and again, and told when enough answers in a row were the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "net/loop.h"
#include "runtime/containers.h"
#include "runtime/pods/pod_spec.h"
#include "runtime/shim/shim_files.h"

namespace tidemark::runtime {

class Probe {
 public:
  // `inside`: how the container runs, for a program that is run in it; `place`: where that is kept, an attempt for each
  // run. `told` is called on the loop with what holds now, each time that it turns; at first nothing holds.
  // `containers` outlives it.
  Probe(net::EventLoop& loop, Containers& containers, ProbeSpec spec, ShimBegin inside, ContainerPlace place,
        std::function<void(bool)> told);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // A program that a probe ran: something of it changed.
  void look(const ContainerPlace& place);

 private:
  net::Task<void> run();
  net::Task<bool> ask();
  net::Task<bool> ask_program();
  net::Task<bool> ask_http();
  net::Task<bool> ask_tcp();
  void drop_program();

  net::EventLoop& loop_;
  Containers& containers_;
  ProbeSpec spec_;
  ShimBegin inside_;
  ContainerPlace place_;
  std::function<void(bool)> told_;
  std::optional<bool> holds_;
  bool running_ = false;  // a program of it
  net::Event changed_;
  net::Scope scope_;  // last: its task uses everything above
};

}  // namespace tidemark::runtime

// A probe of a container that runs: asked again and again, and told when enough answers in a row were the same. What
// could not be asked (no room for its program's folder, no such program) is no answer, as a kubelet has it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
  Probe(net::EventLoop& loop, base::Log log, Containers& containers, ProbeSpec spec, ShimBegin inside,
        ContainerPlace place, std::function<void(bool)> told);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // A program that a probe ran: something of it changed.
  void look(const ContainerPlace& place);

 private:
  // nullopt: it could not be asked.
  using Answer = std::optional<bool>;

  net::Task<void> run();
  void count(bool good);
  net::Task<Answer> ask();
  net::Task<Answer> ask_program();
  net::Task<Answer> ask_http();
  net::Task<Answer> ask_tcp();
  Answer not_asked(std::string_view why);
  void drop_program();

  net::EventLoop& loop_;
  base::Log log_;
  Containers& containers_;
  ProbeSpec spec_;
  ShimBegin inside_;
  ContainerPlace place_;
  std::function<void(bool)> told_;
  std::int32_t successes_ = 0, failures_ = 0;  // in a row
  std::optional<bool> holds_;
  bool running_ = false;  // a program of it
  bool can_ask_ = true;   // as last logged
  net::Event changed_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  // for what is posted
  net::Scope scope_;                                           // last: its task uses everything above
};

}  // namespace tidemark::runtime

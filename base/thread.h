// A thread that no signal of the process comes to: those are for the loop's thread. Faults (SIGSEGV …) stay with the
// thread that makes them.
#pragma once

#include <functional>
#include <thread>

namespace tidemark::base {

std::thread start_thread(std::function<void()> run);

}  // namespace tidemark::base

// What is to be reconciled, by key. Level, not edge: a key is in the queue once, however often it was added; a key
// added while it is being worked on comes again after. Keys wait first come, first served, so that a busy one cannot
// starve the rest; an urgent key goes ahead of all that are not (a lost resource before a routine one).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/random.h"
#include "net/loop.h"

namespace tidemark::kube {

struct WorkQueueConfig {
  base::Duration retry_initial = std::chrono::milliseconds(50);
  base::Duration retry_max = std::chrono::minutes(1);
};

class WorkQueue {
 public:
  WorkQueue(net::EventLoop& loop, base::Registry& metrics, std::string_view name, base::Random random,
            WorkQueueConfig config = {});
  ~WorkQueue();

  enum class Urgency { kRoutine, kUrgent };
  void add(const std::string& key, Urgency urgency = Urgency::kRoutine);
  // The soonest of several wins, and the most urgent.
  void add_after(const std::string& key, base::Duration delay, Urgency urgency = Urgency::kRoutine);
  void retry(const std::string& key, Urgency urgency = Urgency::kRoutine);  // with this key's own backoff
  void forget(const std::string& key);                                      // it went well: the backoff starts over

  // Waits for a key and marks it as being worked on until done(). Several workers may take keys at once; one that takes
  // only urgent ones is there for them while all others wait for something.
  net::Task<std::string> next(Urgency least = Urgency::kRoutine);
  void done(const std::string& key);

  // A key that must not delay others waits in a line beside the queue, once, until it is taken out to be queued again.
  // It keeps its position in the line while it is requeued.
  void stand_in_line(const std::string& key);
  net::Task<void> line();       // until a key waits
  std::string first_in_line();  // who then leaves it
  bool has_line() const;

  std::size_t waiting() const;  // in the queue, not in the line
  struct Load {
    std::size_t length = 0;                           // keys in the queue and in the line
    std::optional<base::MonotonicTime> oldest_since;  // since when the oldest of them waits; nullopt: none waits
  };
  Load load() const;  // goes through all keys if one waits
  const std::string& name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::kube

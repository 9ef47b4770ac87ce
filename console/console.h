// `tidemark console`: shows a cluster on a web page, on loopback. It writes orders only if `person` is given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "console/orders.h"
#include "console/view.h"
#include "kube/client.h"
#include "net/loop.h"
#include "net/task.h"
#include "operate/decisions.h"

namespace tidemark::console {

struct ConsoleOptions {
  std::string listen = "127.0.0.1:8090";
  ViewOptions view{};
  std::string cluster{};           // its name on the page
  std::optional<Person> person{};  // gives the orders of the page; nullopt: the console is read-only
  operate::DecisionFiles files{};
};

class Console {
 public:
  // Listens at once. kInvalid: the address is not on loopback.
  static Result<std::unique_ptr<Console>> make(net::EventLoop& loop, kube::Client& client, base::Log log,
                                               base::Registry& metrics, base::Random random, ConsoleOptions options);
  virtual ~Console() = default;

  virtual void start() = 0;  // reads the cluster until destroyed
  virtual std::string url() const = 0;
  virtual bool has_page() const = 0;  // false: built without Node.js
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::console

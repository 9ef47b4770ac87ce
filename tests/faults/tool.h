// Shared by the programs of these tests: a client from a kubeconfig, and lines on standard input as commands.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::tests {

struct ToolOptions {
  std::string kubeconfig;
  std::string ns = "default";
  base::Duration ping_interval = std::chrono::seconds(15);
  base::Duration ping_timeout = std::chrono::seconds(10);
  double queries_per_second = 30;
  base::Registry* metrics = nullptr;
};

struct ToolClient {
  std::unique_ptr<net::HttpClient> transport;
  std::unique_ptr<kube::Client> client;
};
// The server is given by its address: no name is resolved.
Result<ToolClient> connect_tool(net::EventLoop& loop, base::Random random, const ToolOptions& options);

// Calls back for each line, and with "quit" at the end of standard input.
class Commands {
 public:
  Commands(net::EventLoop& loop, std::function<void(std::string_view line)> on_line);

 private:
  void read();
  std::function<void(std::string_view)> on_line_;
  std::string pending_;
  net::FdWatch watch_;
};

void say(std::string_view text);  // writes all of it to standard output
int give_up(const Error& error);  // prints to standard error; returns the exit code

std::size_t resident_bytes();  // of this process

}  // namespace tidemark::tests

// Flags and wiring for sending the lines of a process's files to a collector (journal/line_stream.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "journal/line_stream.h"
#include "kube/config.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::main {

struct StreamOptions {
  std::string url;  // "": nothing is sent
  std::string ca_file;
  std::string token_file;
};
void declare_stream_flags(base::Flags& flags, StreamOptions& options);

class StreamOutput {
 public:
  // Null without a URL. kInvalid: invalid URL, or no file to send.
  static Result<std::unique_ptr<StreamOutput>> make(net::EventLoop& loop, const base::Log& log, base::Registry& metrics,
                                                    base::Random random, const StreamOptions& options,
                                                    const std::vector<std::string>& files, std::string source);
  StreamOutput(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, base::Random random,
               net::HttpClientConfig collector, journal::LineStreamOptions options);

 private:
  net::WorkerPool resolvers_, files_;
  net::HttpClient collector_;
  journal::LineStream stream_;
  net::Scope scope_;  // last: its task uses everything above
};

}  // namespace tidemark::main

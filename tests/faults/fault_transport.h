// Faults between a client and an API server, drawn from a seed, in front of a working transport.
//
// Only faults that a client may meet: refusals (429, 500, 503, 410), connections that break before or after the request
// was executed, answers that are late or cut off, watches that end in the middle of an object, turn to garbage, carry
// an ERROR event or fall silent. It also records the requests and their times, so that a test can check the rate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::tests {

// Shares of 1000 requests.
struct FaultRates {
  int too_many = 0;      // 429 with Retry-After of 1 … retry_after_max_s
  int failed = 0;        // 500
  int unavailable = 0;   // 503 without Retry-After, as from a proxy
  int starting = 0;      // 503 with Retry-After, as from an API server at its start
  int refused = 0;       // no connection
  int lost = 0;          // executed, and the connection breaks before the answer
  int slow = 0;          // executed, and the answer comes after the caller's deadline
  int cut_body = 0;      // an answer without its end
  int expired = 0;       // of watches: 410
  int broken_watch = 0;  // of watches: open, and then a faulty end of the stream
  int retry_after_max_s = 3;

  static FaultRates none() { return {}; }
};

struct Asked {
  base::MonotonicTime at;
  std::string method;
  std::string target;
  int status = 0;                  // 0: no answer
  std::int64_t retry_after_s = 0;  // from the answer
  bool is_watch() const { return target.find("watch=true") != std::string::npos; }
};

class FaultTransport final : public net::HttpTransport {
 public:
  FaultTransport(net::EventLoop& loop, net::HttpTransport& inner, base::Random random)
      : loop_(loop), inner_(inner), random_(random) {}

  FaultRates rates;
  std::vector<Asked> asked;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override;
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override;

 private:
  enum class Fault { kNone, kStatus, kRefused, kLost, kSlow, kCutBody, kBrokenWatch };
  struct Drawn {
    Fault fault = Fault::kNone;
    net::HttpResponse answer;  // for kStatus
  };
  Drawn draw(bool watch);
  Drawn answer(int status, std::string_view reason, std::int64_t retry_after_s);
  std::size_t note(const net::HttpRequest& request);

  net::EventLoop& loop_;
  net::HttpTransport& inner_;
  base::Random random_;
};

}  // namespace tidemark::tests

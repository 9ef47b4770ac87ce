// Fake Kerberos for tests: readable tokens with the real rules. Nothing is wrapped before both sides are authenticated,
// private data is not readable, and tokens are numbered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hadoop/gss.h"

namespace tidemark::hadoop::testing {

// "I7:bytes" or "P7:" and the bytes turned upside down.
inline std::string wrapped(std::uint64_t number, std::string_view bytes, bool confidential) {
  std::string out = base::cat(confidential ? "P" : "I", number, ":");
  for (const char c : bytes) out.push_back(confidential ? static_cast<char>(~c) : c);
  return out;
}

inline Result<GssOpened> opened(std::uint64_t number, std::string_view token) {
  GssOpened out;
  out.confidential = token.starts_with("P");
  const std::string head = base::cat(out.confidential ? "P" : "I", number, ":");
  if (!token.starts_with(head)) {
    return fail(ErrorKind::kDenied, "a token of another place: ", base::in_quotes(token.substr(0, 10)));
  }
  for (const char c : token.substr(head.size())) out.bytes.push_back(out.confidential ? static_cast<char>(~c) : c);
  return out;
}

class FakeGss : public Gss {
 public:
  net::Task<Result<std::string>> own_principal(base::Duration) override {
    if (refusal) co_return fail(*refusal);
    co_return std::string("tidemark@EXAMPLE");
  }
  net::Task<Result<std::string>> canonical_name(std::string address) override {
    looked_up.push_back(std::move(address));
    co_return std::string("Host.Example");
  }
  std::unique_ptr<GssContext> context(std::string server_principal) override {
    servers.push_back(std::move(server_principal));
    return std::make_unique<Context>(*this);
  }

  std::optional<Error> refusal;   // no tickets
  std::optional<Error> lost;      // of every context: what it answers from now on
  std::uint32_t token_room = 10;  // of a token that is no content
  std::vector<std::string> servers, looked_up;

 private:
  class Context : public GssContext {
   public:
    explicit Context(FakeGss& of) : of_(of) {}
    net::Task<Result<GssStep>> step(std::string token) override {
      if (of_.lost) co_return fail(*of_.lost);
      if (token.empty()) co_return GssStep{"ap-req", false};
      if (token != "ap-rep") co_return fail(ErrorKind::kDenied, "unexpected server");
      complete_ = true;
      co_return GssStep{"", true};
    }
    net::Task<Result<std::string>> wrap(std::string bytes, bool confidential) override {
      if (of_.lost) co_return fail(*of_.lost);
      if (!complete_) co_return fail(ErrorKind::kInvalid, "too soon");
      co_return wrapped(++sent_, bytes, confidential);
    }
    net::Task<Result<GssOpened>> unwrap(std::string token) override {
      if (of_.lost) co_return fail(*of_.lost);
      if (!complete_) co_return fail(ErrorKind::kInvalid, "too soon");
      co_return opened(++got_, token);
    }
    net::Task<Result<std::uint32_t>> wrap_max(std::uint32_t token_max, bool) override {
      co_return token_max > of_.token_room ? token_max - of_.token_room : 0;
    }

   private:
    FakeGss& of_;
    bool complete_ = false;
    std::uint64_t sent_ = 0, got_ = 0;
  };
};

}  // namespace tidemark::hadoop::testing

// SHA-256; and seals short texts with a secret (AES-256-GCM): only a holder of the secret can read or make a sealed
// text.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::net {

// SHA-256, as bytes.
std::string sha256(std::string_view text);
// HMAC with SHA-256 (RFC 2104), as bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string hex(std::string_view bytes);

// The time depends only on the sizes.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& add(std::string_view bytes);
  std::string hex();  // 64 digits; nothing is added after it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Without padding (RFC 4648, section 5).
std::string base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);

// `bytes` bytes that cannot be guessed, in base64url. kInternal: the system has no randomness.
Result<std::string> random_text(std::size_t bytes);

class Sealer {
 public:
  // The key is derived from `secret`, which may be of any length; two programs with the same secret open each other's
  // texts.
  explicit Sealer(std::string_view secret);

  // In the alphabet of base64url, fit for a cookie. `purpose` must be the same when it is opened.
  Result<std::string> seal(std::string_view text, std::string_view purpose) const;
  // nullopt: not sealed with this secret and purpose, or changed since.
  std::optional<std::string> open(std::string_view sealed, std::string_view purpose) const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace tidemark::net

#include "net/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kSealedBytesMax = 64 * 1024;
constexpr std::string_view kKeyPurpose = "tidemark seal 1";

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

unsigned char* bytes_of(std::string& text, std::size_t at = 0) {
  return reinterpret_cast<unsigned char*>(text.data() + at);
}
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string sha256(std::string_view text) {
  std::string digest(32, '\0');
  unsigned size = 0;
  const bool good = EVP_Digest(text.data(), text.size(), bytes_of(digest), &size, EVP_sha256(), nullptr) == 1;
  TM_CHECK(good && size == digest.size(), "OpenSSL always has SHA-256");
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string digest(32, '\0');
  unsigned size = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
                          bytes_of(digest), &size);
  TM_CHECK(done != nullptr && size == digest.size(), "OpenSSL always has SHA-256");
  return digest;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += "0123456789abcdef"[value >> 4];
    out += "0123456789abcdef"[value & 15];
  }
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string out = base::base64_encode(bytes);
  while (!out.empty() && out.back() == '=') out.pop_back();
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string padded(text);
  if (padded.find_first_of("+/=\r\n") != std::string::npos) return std::nullopt;
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return base::base64_decode(padded);
}

Result<std::string> random_text(std::size_t bytes) {
  std::string out(bytes, '\0');
  if (RAND_bytes(bytes_of(out), static_cast<int>(bytes)) != 1) return fail(ErrorKind::kInternal, "no randomness");
  return base64url(out);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Sha256::Impl {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  TM_CHECK(EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1, "OpenSSL always has SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::add(std::string_view bytes) {
  TM_CHECK(EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()) == 1, "a digest takes any bytes");
  return *this;
}

std::string Sha256::hex() {
  std::string digest(32, '\0');
  unsigned size = 0;
  TM_CHECK(EVP_DigestFinal_ex(impl_->context.get(), bytes_of(digest), &size) == 1, "hex() is called once");
  return net::hex(digest);
}

Sealer::Sealer(std::string_view secret) {
  const std::string digest = sha256(base::cat(kKeyPurpose, "\n", secret));
  std::ranges::copy(digest, key_.begin());
}

Result<std::string> Sealer::seal(std::string_view text, std::string_view purpose) const {
  std::string out(kNonceBytes + text.size() + kTagBytes, '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  const bool good =
      cipher != nullptr && RAND_bytes(bytes_of(out), kNonceBytes) == 1 &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(), bytes_of(out)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(purpose), static_cast<int>(purpose.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), bytes_of(out, kNonceBytes), &size, bytes_of(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), bytes_of(out, kNonceBytes) + size, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, bytes_of(out, kNonceBytes + text.size())) == 1;
  if (!good) return fail(ErrorKind::kInternal, "cannot seal: OpenSSL failed");
  return base64url(out);
}

std::optional<std::string> Sealer::open(std::string_view sealed, std::string_view purpose) const {
  if (sealed.size() > kSealedBytesMax) return std::nullopt;
  auto bytes = from_base64url(sealed);
  if (!bytes || bytes->size() < kNonceBytes + kTagBytes) return std::nullopt;
  const std::size_t length = bytes->size() - kNonceBytes - kTagBytes;
  std::string text(length, '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  const bool good =
      cipher != nullptr &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(), bytes_of(*bytes)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(purpose), static_cast<int>(purpose.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(text), &size, bytes_of(*bytes, kNonceBytes), static_cast<int>(length)) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, bytes_of(*bytes, kNonceBytes + length)) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + size, &size) == 1;
  if (!good) return std::nullopt;
  return text;
}

}  // namespace tidemark::net

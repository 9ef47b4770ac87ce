#include "hadoop/delegation_tokens.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kCredentialsMagic = "HDTS";
constexpr char kFormatWritable = 0;
constexpr std::size_t kPartMax = 64 * 1024;

// WritableUtils.writeVInt(), for lengths: one byte up to 127, else the number of bytes as -112 - N and they.
void put_length(std::string& out, std::size_t length) {
  if (length <= 127) {
    out += static_cast<char>(length);
    return;
  }
  std::string bytes;
  for (std::size_t rest = length; rest != 0; rest >>= 8) bytes.insert(bytes.begin(), static_cast<char>(rest & 0xff));
  out += static_cast<char>(-112 - static_cast<int>(bytes.size()));
  out += bytes;
}

void put_part(std::string& out, std::string_view bytes) {
  put_length(out, bytes.size());
  out += bytes;
}

std::optional<std::string> take_part(std::string_view& bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto first = static_cast<signed char>(bytes.front());
  bytes.remove_prefix(1);
  std::size_t length = 0;
  if (first >= 0) {
    length = static_cast<std::size_t>(first);
  } else {
    if (first > -113 || first < -116) return std::nullopt;  // negative, or longer than any token
    const auto count = static_cast<std::size_t>(-112 - first);
    if (bytes.size() < count) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
    bytes.remove_prefix(count);
  }
  if (length > kPartMax || bytes.size() < length) return std::nullopt;
  std::string out(bytes.substr(0, length));
  bytes.remove_prefix(length);
  return out;
}

}  // namespace

Result<DelegationToken> parse_delegation_token(std::string_view url_text) {
  std::string standard(url_text);  // without padding, and with - and _
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  const auto bytes = base::base64_decode(standard);
  std::string_view rest = bytes ? std::string_view(*bytes) : std::string_view();
  DelegationToken out;
  for (std::string* part : {&out.identifier, &out.password, &out.kind, &out.service}) {
    auto taken = take_part(rest);
    if (!taken) return fail(ErrorKind::kInvalid, "a delegation token that is cut or in another form");
    *part = *std::move(taken);
  }
  return out;
}

std::string encode_credentials(const std::vector<DelegationToken>& tokens) {
  std::string out(kCredentialsMagic);
  out += kFormatWritable;
  put_length(out, tokens.size());
  for (const DelegationToken& token : tokens) {
    put_part(out, token.service);  // the alias
    for (const std::string* part : {&token.identifier, &token.password, &token.kind, &token.service})
      put_part(out, *part);
  }
  put_length(out, 0);  // secret keys
  return out;
}

}  // namespace tidemark::hadoop

// Delegation tokens of Hadoop, with which a container reads and writes HDFS without a ticket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

struct DelegationToken {
  std::string identifier, password;  // bytes
  std::string kind;                  // HDFS_DELEGATION_TOKEN
  std::string service;               // by which a client finds it: IP:PORT, or ha-hdfs:NAME
  bool operator==(const DelegationToken&) const = default;
};

// The text form that WebHDFS answers: Token.encodeToUrlString().
Result<DelegationToken> parse_delegation_token(std::string_view url_text);
// Credentials.writeTokenStorageToStream(), format 0.
std::string encode_credentials(const std::vector<DelegationToken>& tokens);

}  // namespace tidemark::hadoop

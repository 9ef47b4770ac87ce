// Kerberos errors, with a hint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::kerberos {

// `code` is one of com_err's, of krb5 or of a mechanism's minor status.
Error error_of(std::int32_t code, std::string_view said);
// Empty if there is no hint beyond the error itself.
std::string_view what_helps(std::int32_t code);

}  // namespace tidemark::kerberos

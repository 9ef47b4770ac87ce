#include "hadoop/rpc_frames.h"

#include <array>
#include <optional>
#include <utility>

#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kMagic = "hrpc";
constexpr char kVersion = 9;
constexpr char kServiceClass = 0;
constexpr std::int32_t kContextCall = -3;
constexpr std::int64_t kProtocolBuffers = 2;  // RpcKindProto
constexpr std::int64_t kFinalPacket = 0;      // OperationProto

enum : std::int64_t { kSuccess = 0, kError = 1, kFatal = 2 };

// RpcErrorCodeProto, as far as it says more than the class of the exception.
enum : std::int32_t {
  kNoSuchMethod = 2,
  kNoSuchProtocol = 3,
  kVersionMismatch = 6,
  kFatalUnsupportedSerialization = 11,
  kFatalVersionMismatch = 14,
  kFatalUnauthorized = 15,
};

std::string call_header(std::int32_t call_id, std::string_view client_id, std::int32_t retry) {
  std::string out;
  WireWriter(out)
      .number(1, kProtocolBuffers)
      .number(2, kFinalPacket)
      .zigzag(3, call_id)
      .bytes(4, client_id)
      .zigzag(5, retry);
  return out;
}

void append_headed(std::string& out, std::string_view header, std::string_view message) {
  std::string content;
  append_delimited(content, header);
  append_delimited(content, message);
  append_frame(out, content);
}

std::string_view simple_name(std::string_view java_class) {
  const std::size_t end = java_class.find_last_of(".$");
  return end == std::string_view::npos ? java_class : java_class.substr(end + 1);
}

struct Known {
  std::string_view exception;  // without its package
  ErrorKind kind;
};
constexpr std::array kKnown = {
    Known{"StandbyException", ErrorKind::kUnavailable},
    Known{"RetriableException", ErrorKind::kUnavailable},
    Known{"ServerNotActiveException", ErrorKind::kUnavailable},
    Known{"AccessControlException", ErrorKind::kDenied},
    Known{"AuthorizationException", ErrorKind::kDenied},
    Known{"SaslException", ErrorKind::kDenied},
    Known{"InvalidToken", ErrorKind::kDenied},
    Known{"ApplicationNotFoundException", ErrorKind::kNotFound},
    Known{"ContainerNotFoundException", ErrorKind::kNotFound},
    Known{"FileNotFoundException", ErrorKind::kNotFound},
    Known{"IllegalArgumentException", ErrorKind::kInvalid},
    Known{"InvalidResourceRequestException", ErrorKind::kInvalid},
    Known{"UnsupportedOperationException", ErrorKind::kUnsupported},
    Known{"RpcNoSuchMethodException", ErrorKind::kUnsupported},
    Known{"RpcNoSuchProtocolException", ErrorKind::kUnsupported},
};

std::optional<ErrorKind> kind_by_name(std::string_view java_class) {
  for (const Known& known : kKnown) {
    if (simple_name(java_class) == known.exception) return known.kind;
  }
  return std::nullopt;
}

ErrorKind kind_of(const Refusal& refusal) {
  switch (refusal.detail) {
    case kNoSuchMethod:
    case kNoSuchProtocol:
    case kVersionMismatch:
    case kFatalVersionMismatch:
    case kFatalUnsupportedSerialization:
      return ErrorKind::kUnsupported;
    case kFatalUnauthorized:
      return ErrorKind::kDenied;
    default:
      break;
  }
  return kind_by_name(refusal.exception).value_or(ErrorKind::kInternal);
}

// A ResourceManager's admin service gives the reason inside another exception's message:
// "org.apache.hadoop.security.AccessControlException: User …".
Refusal unwrapped(const Refusal& refusal) {
  const std::string_view said = refusal.message;
  const std::size_t end = said.find(": ");
  if (simple_name(refusal.exception) != "YarnException" || end == said.npos) return refusal;
  const std::string_view inner = said.substr(0, end);
  if (!kind_by_name(inner)) return refusal;
  return {.exception = std::string(inner), .message = std::string(said.substr(end + 2))};
}

// A Java message continues with a stack trace; its first line is enough.
std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string new_client_id(base::Random& random) {
  std::string id;
  while (id.size() < 16) {
    std::uint64_t bits = random.next();
    for (int i = 0; i < 8; ++i, bits >>= 8) id.push_back(static_cast<char>(bits & 0xff));
  }
  return id;
}

std::string preamble(Authentication authentication) {
  std::string out(kMagic);
  out += {kVersion, kServiceClass, static_cast<char>(authentication)};
  return out;
}

std::string connection_context(const Identity& identity, std::string_view protocol, std::string_view client_id) {
  std::string context;
  WireWriter writer(context);
  if (!identity.effective_user.empty() || !identity.real_user.empty()) {
    writer.message(2, [&](WireWriter& user) {
      if (!identity.effective_user.empty()) user.bytes(1, identity.effective_user);
      if (!identity.real_user.empty()) user.bytes(2, identity.real_user);
    });
  }
  writer.bytes(3, protocol);
  std::string out;
  append_headed(out, call_header(kContextCall, client_id, -1), context);
  return out;
}

void append_message(std::string& out, std::int32_t call_id, std::string_view message) {
  append_headed(out, call_header(call_id, "", -1), message);
}

void append_frame(std::string& out, std::string_view content) {
  const auto size = static_cast<std::uint32_t>(content.size());
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(size >> shift & 0xff));
  out.append(content);
}

void append_call(std::string& out, std::int32_t call_id, std::string_view client_id, const Method& method,
                 std::string_view request) {
  std::string header;
  WireWriter(header)
      .bytes(1, method.name)
      .bytes(2, method.protocol)
      .number(3, static_cast<std::int64_t>(method.version));
  std::string content;
  append_delimited(content, call_header(call_id, client_id, 0));
  append_delimited(content, header);
  append_delimited(content, request);
  append_frame(out, content);
}

Result<Answer> read_answer(std::string_view frame) {
  TM_TRY(const std::string_view header, take_delimited(frame, "RpcResponseHeaderProto"));
  Answer answer;
  Refusal refusal;
  std::optional<std::int64_t> status;
  WireReader reader(header);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        answer.call_id = field->integer32();  // a uint32 that holds an int32
        break;
      case 2:
        status = field->integer();
        break;
      case 4:
        refusal.exception = field->text();
        break;
      case 5:
        refusal.message = field->text();
        break;
      case 6:
        refusal.detail = field->integer32();
        break;
      default:
        break;
    }
  }
  TM_TRY_VOID(reader.finish("RpcResponseHeaderProto"));
  if (!status || *status < kSuccess || *status > kFatal) {
    return fail(ErrorKind::kInvalid, "RpcResponseHeaderProto: no status that is known: is this a Hadoop RPC port?");
  }
  if (*status != kSuccess) {
    refusal.fatal = *status == kFatal;
    answer.refusal = std::move(refusal);
    return answer;
  }
  TM_TRY(answer.response, take_delimited(frame, "the response"));
  return answer;
}

Error to_error(const Refusal& wrapped) {
  const Refusal refusal = unwrapped(wrapped);
  Error error;
  error.kind = kind_of(refusal);
  const std::string_view name = refusal.exception.empty() ? "an error without a name" : simple_name(refusal.exception);
  error.message = refusal.message.empty() ? std::string(name) : base::cat(name, ": ", first_line(refusal.message));
  return error;
}

bool wants_kerberos(const Error& error) {
  return error.kind == ErrorKind::kDenied &&
         error.message.find("SIMPLE authentication is not enabled") != error.message.npos;
}

Result<std::optional<std::string_view>> FrameReader::next() {
  buffer_.erase(0, std::exchange(taken_, 0));
  if (buffer_.size() < 4) return std::nullopt;
  std::uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(buffer_[static_cast<std::size_t>(i)]);
  if (size > kAnswerBytesMax) {
    return fail(ErrorKind::kInvalid, "an answer of ", size, " bytes, more than ", kAnswerBytesMax,
                ": is this a Hadoop RPC port?");
  }
  if (buffer_.size() < 4 + std::size_t{size}) return std::nullopt;
  taken_ = 4 + std::size_t{size};
  return std::string_view(buffer_).substr(4, size);
}

}  // namespace tidemark::hadoop

#include "hadoop/kerberos_messages.h"

#include <utility>

#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

constexpr auto kLastOp = HelperRequest::Op::kPing;
constexpr auto kLastNote = HelperAnswer::Note::kLoginFailed;
constexpr auto kLastKind = ErrorKind::kInternal;

}  // namespace

std::string encode(const HelperRequest& request) {
  std::string out;
  WireWriter writer(out);
  writer.number(1, static_cast<std::int64_t>(request.number)).number(2, static_cast<std::int64_t>(request.op));
  if (request.context != 0) writer.number(3, static_cast<std::int64_t>(request.context));
  if (!request.server.empty()) writer.bytes(4, request.server);
  if (!request.bytes.empty()) writer.bytes(5, request.bytes);
  if (request.confidential) writer.number(6, 1);
  if (request.token_max != 0) writer.number(7, request.token_max);
  return out;
}

std::string encode(const HelperAnswer& answer) {
  std::string out;
  WireWriter writer(out);
  writer.number(1, static_cast<std::int64_t>(answer.number)).number(2, static_cast<std::int64_t>(answer.note));
  if (answer.version != 0) writer.number(3, answer.version);
  if (!answer.principal.empty()) writer.bytes(4, answer.principal);
  if (answer.until_s != 0) writer.number(5, answer.until_s);
  if (!answer.done) {
    writer.number(6, static_cast<std::int64_t>(answer.done.error().kind) + 1).bytes(7, answer.done.error().message);
  }
  if (!answer.bytes.empty()) writer.bytes(8, answer.bytes);
  if (answer.flag) writer.number(9, 1);
  if (answer.size != 0) writer.number(10, answer.size);
  return out;
}

Result<HelperRequest> decode_request(std::string_view bytes) {
  HelperRequest out;
  std::int64_t op = 0;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) out.number = static_cast<std::uint64_t>(field->integer());
    if (field->number == 2) op = field->integer();
    if (field->number == 3) out.context = static_cast<std::uint64_t>(field->integer());
    if (field->number == 4) out.server = field->text();
    if (field->number == 5) out.bytes = field->text();
    if (field->number == 6) out.confidential = field->integer() != 0;
    if (field->number == 7) out.token_max = static_cast<std::uint32_t>(field->integer());
  }
  TM_TRY_VOID(reader.finish("a request to tidemark-kerberos"));
  if (op < 1 || op > static_cast<std::int64_t>(kLastOp)) {
    return fail(ErrorKind::kInvalid, "a request to tidemark-kerberos for something that is not known");
  }
  out.op = static_cast<HelperRequest::Op>(op);
  return out;
}

Result<HelperAnswer> decode_answer(std::string_view bytes) {
  HelperAnswer out;
  std::int64_t note = 0;
  std::int64_t kind = 0;
  std::string why;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) out.number = static_cast<std::uint64_t>(field->integer());
    if (field->number == 2) note = field->integer();
    if (field->number == 3) out.version = static_cast<std::uint32_t>(field->integer());
    if (field->number == 4) out.principal = field->text();
    if (field->number == 5) out.until_s = field->integer();
    if (field->number == 6) kind = field->integer();
    if (field->number == 7) why = field->text();
    if (field->number == 8) out.bytes = field->text();
    if (field->number == 9) out.flag = field->integer() != 0;
    if (field->number == 10) out.size = static_cast<std::uint32_t>(field->integer());
  }
  TM_TRY_VOID(reader.finish("an answer of tidemark-kerberos"));
  if (note < 0 || note > static_cast<std::int64_t>(kLastNote) || kind < 0 ||
      kind > static_cast<std::int64_t>(kLastKind) + 1) {
    return fail(ErrorKind::kInvalid, "an answer of tidemark-kerberos that is not known");
  }
  out.note = static_cast<HelperAnswer::Note>(note);
  if (kind != 0) out.done = fail(static_cast<ErrorKind>(kind - 1), why);
  return out;
}

}  // namespace tidemark::hadoop

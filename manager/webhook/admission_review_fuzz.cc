// Any body is an AdmissionReview or is refused with a reason; what is read is answered with its uid.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "manager/webhook/admission_review.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace manager = tidemark::manager;
  const auto request = manager::decode_review({reinterpret_cast<const char*>(data), size});
  if (!request) {
    TM_CHECK(!request.error().message.empty(), "a refusal says what is wrong");
    return 0;
  }
  manager::AdmissionAnswer answer;
  answer.allowed = size % 2 == 0;
  answer.message = request->name;
  answer.warnings.push_back(request->ns);
  const auto sent = tidemark::Json::parse(manager::encode_review(request->uid, answer));
  TM_CHECK(sent && sent->text_at("response", "uid") == request->uid, "the uid comes back");
  return 0;
}

// Any bytes are parsed as a model or rejected; a parsed model is written the same, continues to learn, and predicts in
// order.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"
#include "policy/sell/prediction/checkpoint.h"
#include "policy/sell/prediction/models.h"

namespace {

void read(std::string_view bytes) {
  using namespace tidemark;
  auto model = policy::sell::decode_model(bytes);
  if (!model) return;
  TM_CHECK(policy::sell::encode_model(*model) == bytes, "there is one text for each model");
  policy::sell::UsageModels models;
  TM_CHECK(models.restore(*model, model->written + std::chrono::minutes(1)), "what is read can be used");
  const auto stored = models.checkpoint(model->key, model->written);
  TM_CHECK(stored && stored->cpu.total() == model->cpu.total(), "and is kept");
  model->cpu.add(1, model->written);
  model->memory.add(1, model->written);
  double before = 0;
  for (const double p : {0.0, 0.5, 0.95, 0.98, 1.0}) {
    const double now = model->cpu.percentile(p);
    TM_CHECK(std::isfinite(now) && now >= before, "in order");
    before = now;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  // The same with a valid checksum, so that the code behind it is reached.
  if (bytes.size() < 8) return 0;
  bytes.resize(bytes.size() - 8);
  const std::uint64_t sum = tidemark::base::TextHash().add(bytes).value();
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((sum >> (8 * i)) & 0xff);
  read(bytes);
  return 0;
}

#include "yarn_operator/book.h"

#include <algorithm>

#include "base/hash.h"

namespace tidemark::yarn_operator {
namespace {

// Waiting amounts are rounded up to steps of this part of the node. Otherwise each container that is requested or
// allocated anywhere would cause a write on every node.
constexpr std::int64_t kSteps = 8;

std::int64_t stepped(std::int64_t waiting, std::int64_t origin) {
  if (waiting <= 0 || origin <= 0) return 0;
  if (waiting >= origin) return origin;
  const std::int64_t step = std::max<std::int64_t>(origin / kSteps, 1);
  return std::min((waiting - 1) / step * step + step, origin);
}

}  // namespace

base::Duration renew_after(std::size_t nodes, double writes_per_second) {
  const double seconds = static_cast<double>(nodes) / (kRenewalsOfBudget * writes_per_second);
  return std::max(kRenewAfter, std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds)));
}

base::Duration renew_after(std::string_view node, std::size_t nodes, double writes_per_second) {
  constexpr std::uint64_t kParts = 1024;
  const std::uint64_t part = base::TextHash().add(node).value() % kParts;
  const double sooner = kRenewedSoonerMax * static_cast<double>(part) / static_cast<double>(kParts);
  return std::chrono::duration_cast<base::Duration>(renew_after(nodes, writes_per_second) * (1 - sooner));
}

std::optional<model::YarnBook> next_book(const BookInput& input) {
  if (!input.in_force && !input.before) return std::nullopt;
  model::YarnBook book = input.before.value_or(model::YarnBook());
  if (input.in_force) {
    book.generation = input.in_force->generation;
    book.confirmed = input.in_force->total;
  }
  if (input.long_unknown) {
    book.sold.reset();
  } else if (input.held) {
    book.sold.emplace();
    if (*input.held != model::Resources()) book.sold->push_back({input.work_class, *input.held});
  }
  book.waiting.reset();
  book.waiting_for.reset();
  if (input.waiting && *input.waiting != model::Resources()) {
    book.waiting = input.work_class;
    book.waiting_for = {{stepped(input.waiting->cpu.value, input.origin.cpu.value)},
                        {stepped(input.waiting->memory.value, input.origin.memory.value)}};
  }
  return book;
}

}  // namespace tidemark::yarn_operator

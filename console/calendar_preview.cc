#include "console/calendar_preview.h"

#include <array>
#include <string>
#include <utility>

#include "console/body.h"
#include "console/guard.h"
#include "console/settings_documents.h"

namespace tidemark::console {
namespace {

constexpr std::size_t kPreviewBytesMax = std::size_t{2} << 20;
constexpr std::int64_t kPreviewUntil_s = 253'402'300'799;  // the end of the year 9999

}  // namespace

net::Task<void> preview_calendar(net::HttpExchange& exchange, View& view, base::WallTime now) {
  static constexpr std::array<std::string_view, 3> kMembers = {"pool", "text", "at"};
  auto body = co_await exchange.body(kPreviewBytesMax);
  if (!body) {
    respond_problem(exchange, body.error().kind == ErrorKind::kExhausted ? 413 : 408, "body", body.error().message);
    co_return;
  }
  const auto json = parse_body(*body, kMembers);
  if (!json) co_return respond_problem(exchange, 400, "invalid", json.error().detail, json.error().field);
  Members members(*json);
  const std::string pool = members.text("pool"), text = members.text("text");
  const auto at = members.number("at", 0, kPreviewUntil_s);
  if (const auto& wrong = members.first_wrong()) {
    co_return respond_problem(exchange, 400, "invalid", wrong->detail, wrong->field);
  }
  Settings settings = view.settings();
  const std::string problem = settings.take_tidemark_text(text);
  if (!problem.empty()) co_return respond_problem(exchange, 400, "invalid-settings", problem, "text");
  const base::WallTime from = at ? base::WallTime{std::chrono::seconds(*at)} : now;
  auto week = calendar_document(settings, pool, from, now);
  if (!week) co_return respond_error(exchange, week.error(), "pool");
  exchange.respond(200, answer_headers("application/json", "no-store"), net::make_buffer(*std::move(week)));
}

}  // namespace tidemark::console

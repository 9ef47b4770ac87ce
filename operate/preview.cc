#include "operate/preview.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "operate/manifests.h"
#include "policy/state/overrides.h"
#include "policy/waterline/calendar/holidays.h"

namespace tidemark::operate {
namespace {

base::WallTime on_the_grid(base::WallTime time) {
  const auto step = policy::waterline::kPreviewStep;
  return {time.since_epoch - time.since_epoch % step};
}

}  // namespace

net::Task<Result<PoolPreview>> preview_pool(net::EventLoop& loop, kube::Client& client, PreviewOptions options) {
  std::optional<Manifests> file;
  if (!options.file.empty()) {
    Manifests read;
    const auto problems = read_manifests(options.file, options.settings.config_name, read);
    if (!problems.empty()) {
      co_return fail(ErrorKind::kInvalid, "the new settings cannot be used: ", base::join(problems, "; "));
    }
    file = std::move(read);
  }
  PoolPreview out;
  TM_CO_TRY(out.pool, co_await read_pool_line(client, options.settings, options.pool, std::move(file)));
  const base::WallTime now = loop.clock().wall();
  const base::WallTime from = on_the_grid(options.from.value_or(now));
  const auto& calendar = out.pool.calendar();
  out.overrides = policy::state::overrides_of(out.pool.overrides, out.pool.pool, now);
  out.points = policy::waterline::preview(calendar, out.pool.base_cpu, out.pool.base_memory, out.overrides, from,
                                          options.length);
  out.holidays_end = policy::waterline::holidays_end_soon(calendar, std::max(from, now));
  co_return out;
}

}  // namespace tidemark::operate

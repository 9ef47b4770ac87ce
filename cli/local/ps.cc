#include "cli/local/ps.h"

#include "cli/local/held_back.h"
#include "cli/local/objects.h"
#include "cli/local/tasks.h"

namespace tidemark::cli {

net::Task<Result<std::string>> local_ps(net::EventLoop& loop, kube::Client& client, PsOptions options) {
  TM_CO_TRY(const auto objects, co_await read_local_objects(loop, client, options.server.limit));
  const base::WallTime now = loop.clock().wall();
  const auto record = last_record(options.server.data_dir, now);
  const auto tasks = local_tasks(objects, options.server.ns, record ? held_back(*record) : HeldBack());
  co_return options.json ? render_tasks_json(tasks, options.all).dump_pretty() + "\n"
                         : render_tasks(tasks, options.all, now);
}

}  // namespace tidemark::cli

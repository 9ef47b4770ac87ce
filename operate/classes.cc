#include "operate/classes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/state/mark_write.h"
#include "operate/list_pages.h"
#include "operate/pools.h"

namespace tidemark::operate {
namespace {

bool names(const policy::state::StateMark& mark, std::string_view name) {
  return std::ranges::any_of(mark.orders, [&](const policy::state::StateOrder& order) {
    return std::ranges::find(order.only.classes, name) != order.only.classes.end();
  });
}

// On some node, by an order for it, its pool or the cluster.
net::Task<Result<bool>> off_somewhere(net::EventLoop& loop, kube::Client& client, std::string name,
                                      base::Duration limit) {
  kube::Interner interner;
  kube::NodeFields fields;
  fields.meta = manager::mark_fields();
  fields.info = false;
  bool found = false;
  auto listed = co_await list_pages(
      loop, client, kube::kNodes, {}, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto node, kube::decode_node(item, fields, interner));
        const auto marks = manager::read_marks(manager::mark_of(node)).marks;
        found = found || (marks.cluster && names(*marks.cluster, name)) ||
                (marks.pool && names(marks.pool->mark, name)) || (marks.node && names(*marks.node, name));
        return {};
      },
      [&] { found = false; });
  if (!listed) co_return std::unexpected(std::move(listed).error());
  co_return found;
}

}  // namespace

Result<void> class_exists(const policy::waterline::TidemarkConfig& config, std::string_view name) {
  std::vector<std::string_view> views;
  for (const auto& each : config.classes) views.push_back(each.name);
  if (std::ranges::find(views, name) != views.end()) return {};
  if (views.empty()) {
    return fail(ErrorKind::kNotFound, "there is no class ", base::in_quotes(name),
                ": `classes` of tidemark-config names none");
  }
  const auto meant = base::nearest(name, views);
  std::string all;
  for (const auto view : views) all += base::cat(all.empty() ? "" : ", ", view);
  return fail(ErrorKind::kNotFound, "there is no class ", base::in_quotes(name),
              meant ? base::cat("; did you mean ", *meant, "?") : std::string("."), " There are: ", all);
}

net::Task<Result<std::string>> check_classes(net::EventLoop& loop, kube::Client& client, const OrderOptions& options) {
  const std::vector<std::string>& classes = options.command.only.classes;
  if (classes.empty()) co_return std::string();
  const auto config = co_await read_pools(client, options.config_namespace, options.zones, options.limit);
  if (!config) {
    co_return base::cat("whether there is such a class is not known: ", config.error().message);
  }
  for (const auto& name : classes) {
    auto exists = class_exists(*config, name);
    if (exists) continue;
    if (options.command.wish != policy::state::Wish::kOff) {
      TM_CO_TRY(const bool off, co_await off_somewhere(loop, client, name, options.limit));
      if (off) continue;
    }
    co_return std::unexpected(std::move(exists).error());
  }
  co_return std::string();
}

}  // namespace tidemark::operate

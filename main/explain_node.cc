#include "main/explain_node.h"

#include <utility>

#include "cli/explain.h"

namespace tidemark::main {
namespace {

net::Task<Result<Json>> explain_as_json(net::EventLoop& loop, kube::Client& client, cli::ExplainOptions options) {
  TM_CO_TRY(const std::string text, co_await cli::explain_node(loop, client, std::move(options)));
  co_return Json::parse(text);
}

}  // namespace

console::ExplainNode explain_node_of(net::EventLoop& loop, const console::ViewOptions& view) {
  cli::ExplainOptions options;
  options.config_namespace = view.config_namespace;
  options.config_name = view.config_name;
  options.zones = view.zones;
  options.json = true;
  return [&loop, options](kube::Client& client, std::string node) {
    cli::ExplainOptions asked = options;
    asked.node = std::move(node);
    return explain_as_json(loop, client, std::move(asked));
  };
}

}  // namespace tidemark::main

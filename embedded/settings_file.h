// The settings of a machine that has no cluster: one file with the ConfigMaps that a cluster would have, put in force
// at the start and after each change of the file. Without a file a machine sells its idle capacity, by defaults that
// kubectl can change; they are written once and never again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::embedded {

// ConfigMaps of these two names, any of them once: slo-controller-config, tidemark-config. Errors name the document.
Result<std::vector<Json>> read_settings(std::string_view text, std::string_view config_namespace);

// The file as it is now: what is wrong with it; "" is no file and nothing is wrong.
Result<void> check_settings(const std::string& path, std::string_view config_namespace);

class SettingsFile {
 public:
  // `path` "": there is no file.
  SettingsFile(net::EventLoop& loop, kube::Client& client, base::Log log, std::string path,
               std::string config_namespace);

  // What the file says is in force; the defaults where it does not say what is sold, and nothing was there before.
  net::Task<Result<void>> begin();
  // Follows the file; one that cannot be used leaves what is in force, and the log says why.
  net::Task<void> run();

 private:
  net::Task<Result<void>> put(std::vector<Json> maps);
  net::Task<Result<void>> make_defaults();

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  std::string path_;
  std::string namespace_;
  std::string seen_;  // the text that was read last
};

}  // namespace tidemark::embedded

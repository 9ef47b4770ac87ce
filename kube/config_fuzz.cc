// Any text as a kubeconfig: a configuration that can be used, or an error that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/testing/clock.h"
#include "kube/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::kube;
  const base::testing::Clock clock;
  const Files files{[](const std::string& path, std::size_t) -> Result<std::string> {
                      if (path.ends_with("token")) return std::string("secret-token");
                      return base::fail(ErrorKind::kNotFound, path, ": no such file");
                    },
                    [](const std::string&) { return std::optional<FileStamp>(); }};
  const KubeconfigText text{"/k/config", std::string(reinterpret_cast<const char*>(data), size)};
  const auto config = parse_kubeconfig({&text, 1}, "", files, clock);
  if (!config) {
    TM_CHECK(config.error().message.starts_with("kubeconfig /k/config"), "the error names the file");
    return 0;
  }
  TM_CHECK(!config->http.url.host.empty(), "there is a server");
  TM_CHECK(config->http.tls.certificate.given() == config->http.tls.key.given(), "a certificate has its key");
  for (const char c : config->bearer()) TM_CHECK(c > ' ' && c <= '~', "a token fits into a header");
  return 0;
}

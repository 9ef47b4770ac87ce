// Any bytes as a configuration file, which may include itself and others: values, or an error that names the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "hadoop/site.h"
#include "hadoop/yarn_site.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  int reads = 0;
  const auto read = [&](const std::string& path, std::size_t) -> Result<std::string> {
    if (++reads > 100 || path.find("none") != std::string::npos)
      return fail(ErrorKind::kNotFound, path, ": no such file");
    return bytes;
  };
  hadoop::Site site([](const std::string& name) -> std::optional<std::string> {
    return name == "HOME" ? std::optional<std::string>("${env.HOME}") : std::nullopt;
  });
  hadoop::set_yarn_defaults(site);
  if (const auto added = site.add("/f.xml", read); !added)
    TM_CHECK(added.error().message.starts_with("/"), "its place");
  for (const char* name : {"a", "b", "yarn.resourcemanager.address"}) {
    static_cast<void>(site.text(name));
    static_cast<void>(site.list(name));
  }
  static_cast<void>(hadoop::resource_managers(site));
  static_cast<void>(hadoop::parse_address(bytes, 1));
  return 0;
}

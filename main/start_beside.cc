#include "main/start_beside.h"

#include <unistd.h>

#include <cerrno>

#include "base/result.h"
#include "base/text.h"
#include "main/process.h"

namespace tidemark::main {

int start_beside(std::string_view program, std::string_view command, const std::vector<std::string>& args) {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size < 0) return failed(base::fail_errno(errno, "read /proc/self/exe").error());
  path.resize(static_cast<std::size_t>(size));
  path.resize(path.rfind('/') + 1);
  path += program;
  std::vector<std::string> words = {path, std::string(command)};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  Error error = base::fail_errno(errno, base::cat("cannot start ", path)).error();
  if (errno == ENOENT) error.message += base::cat("; `tidemark ", command, "` needs it in the directory of tidemark");
  return failed(error);
}

}  // namespace tidemark::main

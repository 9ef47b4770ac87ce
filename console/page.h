// The files of the web page, compressed when the program was built (console/web). None if Node.js was missing then.
#pragma once

#include <span>
#include <string_view>

namespace tidemark::console {

struct PageFile {
  std::string_view path;  // "/assets/app-3f9c2a.js"; "/index.html" answers all paths of the page
  std::string_view content_type;
  std::string_view br, gz;
};

std::span<const PageFile> page_files();
std::string_view openapi_text();  // console/openapi.json

}  // namespace tidemark::console

// Reads the command line of spark-submit 3.5 and makes the body of a Livy batch from it.
//
//   dedicated option > --conf > properties file
//
// Options end at the first word that is not an option: the primary resource. All later words are arguments of the
// application.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::cli {

struct SubmitWords {
  bool help = false;
  bool version = false;
  Json body;  // of POST /batches
};

// `read_file` reads --properties-file. The message of an error is the line that spark-submit prints.
Result<SubmitWords> parse_submit_words(std::span<const std::string> words,
                                       const std::function<Result<std::string>(const std::string& path)>& read_file);

// Replaces each file of this machine (a path without a scheme, or file:) in a batch by the URL that `upload` returns
// for it. An alias behind # stays.
Result<void> replace_local_files(Json& body, const std::function<Result<std::string>(const std::string& path)>& upload);

}  // namespace tidemark::cli

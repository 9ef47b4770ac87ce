// The past that the console shows from files, by the code of the commands.
#pragma once

#include <string>
#include <vector>

#include "console/past_files.h"
#include "journal/past_server.h"
#include "net/loop.h"
#include "net/worker.h"
#include "operate/past_pods.h"

namespace tidemark::main {

// `journals`: directories of managers' decision journals; `agents`: state directories of agents. Of several directories
// the first one that has an answer gives it.
console::PastFiles past_files(std::vector<std::string> journals, std::vector<std::string> agents);

// The past that managers and agents of the cluster answer; `pods` and `workers`, which examine the answers, outlive it.
console::PastOfPods past_of_pods(net::EventLoop& loop, operate::PastPods& pods, net::WorkerPool& workers);

// What a manager serves of its own files to consoles. Without a journal nothing.
journal::PastAnswers past_of_manager(const std::string& journal, const std::string& audit);

}  // namespace tidemark::main

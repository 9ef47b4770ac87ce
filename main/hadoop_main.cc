// tidemark-hadoop: the commands that read Hadoop's configuration or talk to Hadoop.
#include <unistd.h>

#include "main/process.h"
#include "main/started.h"

int main(int argc, char** argv) {
  using namespace tidemark;
  static constexpr main::StartedCommand kCommands[] = {
      {"yarn-operator", main::run_yarn_operator},
      {"yarn-copilot", main::run_yarn_copilot},
      {"gateway", main::run_gateway},
      {"generate", main::run_generate},
      {"explain", main::run_explain},
      {"check", main::run_check},
      {"doctor", main::run_doctor_yarn},
  };
  // A thread may still wait for a KDC: end without the destructors of libraries that it uses.
  ::_exit(main::run_started(main::kHadoopProgram, kCommands, argc, argv));
}

"""The layer table of ARCHITECTURE.md as data: folder → what it may include beside itself. Folders that do not exist yet are
here already, so that the first file in one of them is held to its place."""

BASE, MODEL, POLICY, NET, KUBE, COPILOT = "base", "model", "policy", "net", "kube", "copilot"
JOURNAL = "journal"
_COMPONENT = {POLICY, KUBE, MODEL, NET, JOURNAL, BASE}

_COMPONENTS = {
    "manager": _COMPONENT,
    "agent": _COMPONENT | {"linux", COPILOT},
    "scheduler": _COMPONENT,
    "descheduler": _COMPONENT,
    "yarn_operator": _COMPONENT | {"hadoop"},
    "yarn_copilot": _COMPONENT | {"linux", "hadoop", COPILOT},
    "gateway": _COMPONENT | {"hadoop"},
    "console": _COMPONENT | {"operate"},
    "runtime": _COMPONENT | {"linux"},
}

BELOW_ASSEMBLY = {"operate", BASE, MODEL, POLICY, NET, "linux", KUBE, "kube/memory", "hadoop", COPILOT, JOURNAL, *_COMPONENTS}

# The rooms of policy/, in their order: a room uses those before it. To other folders they are all policy.
ROOMS = [f"policy/{room}" for room in "sell waterline protect evict settings state admission explain single_node place route".split()]

MAY_USE: dict[str, set[str]] = {
    "base": set(),
    "model": {BASE},
    "policy": {MODEL, BASE},  # policy/testing
    **{room: {MODEL, BASE, *ROOMS[:place]} for place, room in enumerate(ROOMS)},
    "net": {BASE},
    "linux": {BASE},
    "kube": {NET, MODEL, BASE},
    "kube/memory": {KUBE, NET, MODEL, BASE},
    "hadoop": {NET, BASE},
    "journal": {NET, BASE},
    "copilot": {NET, MODEL, BASE},
    **_COMPONENTS,
    # Between the components and the commands: it decides with the manager's own code.
    "operate": _COMPONENT | {"manager"},
    # The assemblies: anything below, each other not, except that a command may start the embedded whole.
    "embedded": BELOW_ASSEMBLY,
    "sim": BELOW_ASSEMBLY,
    "cli": BELOW_ASSEMBLY,
    "demo": {NET, BASE},  # a program of its own
    "kerberos": {"hadoop", NET, BASE},  # implements hadoop/gss.h
}

# Nothing is out of reach for these; nothing may include them.
UNBOUND = {"main", "tests", "bench"}

# A unit test may stand on the in-memory API server, which is the fake of the rim; product code of these folders may not.
TEST_MAY_ALSO_USE: dict[str, set[str]] = {
    **{folder: {"kube/memory"} for folder in [*_COMPONENTS, "operate", "kube"]},
    # Tests of a room play scenarios and print plans with the texts of explain. Further rooms have a reason.
    **{room: {POLICY, "policy/explain"} for room in ROOMS},
    "policy/sell": {POLICY, "policy/explain", "policy/waterline"},  # offers with lines that a calendar draws
    "policy/evict": {POLICY, "policy/explain", "policy/settings", "policy/admission"},  # grants as the agent reads them, victims that the manager lets it evict
}

LAYER: dict[str, str] = {
    "base": "0", "model": "1", "policy": "2", **dict.fromkeys(ROOMS, "2"), "net": "2", "linux": "2",
    "kube": "3", "kube/memory": "3", "hadoop": "3",
    "copilot": "3", "journal": "3", **{component: "4" for component in _COMPONENTS}, "operate": "4+", "embedded": "5", "sim": "5", "cli": "5", "main": "6", "demo": "6", "kerberos": "4",
}

# Folders that hold no C++ of the product.
OTHER_FOLDERS = {"cmake", "deploy", "docs", "dist", ".ci"}

FORBIDDEN_FOLDER_NAMES = {"common", "util", "utils", "helpers", "helper", "misc"}

# Decisions are pure: no clock, no machine, no chance. Pattern → what it is. Applied to policy/ and model/ without their tests.
PURE_FOLDERS = {"policy", "model"}
PURE_BANS: dict[str, str] = {
    r"\b(system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday|SystemClock|base::Clock)\b": "a clock: take `now` as a value",
    r"(?<![\w.>:])(std::)?(time|clock|localtime|gmtime|mktime)\s*\(": "a clock: take `now` as a value",
    r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>:])sleep\s*\(": "a sleep",
    r"#include\s*<(sys/socket|netdb|netinet/\w+|arpa/inet|sys/un|sys/epoll|poll)(\.h)?>": "a socket",
    r"#include\s*<(fstream|filesystem|fcntl\.h|unistd\.h|sys/stat\.h|dirent\.h|cstdio|stdio\.h|sys/mman\.h)>": "a file or a system call",
    r"(?<![\w.>:])(::)?(std::)?(fopen|open|openat|getenv|printf|fprintf|system|popen)\s*\(": "a file, the environment or output",
    r"#include\s*<(thread|mutex|shared_mutex|condition_variable|atomic|future|semaphore|latch|barrier|stop_token|pthread\.h)>": "a thread",
    r"\bstd::(thread|jthread|mutex|atomic|condition_variable|async|future)\b|\bthread_local\b": "a thread",
    r"#include\s*<random>|\bstd::(random_device|mt19937(_64)?|rand)\b|(?<![\w.>:])s?rand\s*\(": "randomness: take a seed or a drawn value",
    r"#include\s*\"base/(random|log|metrics|flags)\.h\"": "randomness, logging, metrics or flags: a policy returns reasons as data",
    r"#include\s*<(iostream|ostream|istream|print|syslog\.h)>|\bstd::(cout|cerr|clog)\b": "output: a policy returns reasons as data",
}

_SLEEP = r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>:\"])(::)?sleep\s*\(\d"

# Another program in our place, or beside us: whoever takes over what an agent of root's hears from pods and copilots could name it. The kernel
# is asked by its files. (A process of our own that runs nothing else, linux/trial_process.cc, is none.)
_STARTS_A_PROGRAM = r"(?<![\w.>:])(::|std::)?(f?exec(l|le|lp|v|ve|vp|vpe|veat)|popen|system|posix_spawnp?|wordexp)\s*\(|\b(SYS|__NR)_execve(at)?\b"

# Everywhere except where the folder is named: pattern → (what, folders that may). "*_test" frees unit tests: an event loop on real
# sockets needs a real clock.
TREE_BANS: dict[str, tuple[str, set[str]]] = {
    _SLEEP: ("a sleep: wait for what is meant, on the event loop or a simulated clock", {"bench"}),
    r"\bSystemClock\b": ("the real clock is chosen in main/ only: take a base::Clock&", {"main", "tests", "bench", "demo", "*_test"}),
    r"\bseed_from_system\b": ("the seed is drawn in main/ only: take a base::Random", {"main", "bench"}),
    r"\bstd::(mutex|shared_mutex|recursive_mutex|condition_variable)\b": ("a mutex outside base/ and net/: one thread owns a component", {"base", "net", "tests", "bench"}),
    _STARTS_A_PROGRAM: ("another program: ask the kernel, or say in tests/tidy/layers.py why there is no other way", {"tests", "bench", "demo", "*_test"}),
    r"\bDISABLED_\w+|\bTEST(_[FP])?\s*\(\s*\w+\s*,\s*DISABLED_": ("a disabled test: repair it or delete it", set()),
    r"\b(TODO|FIXME|XXX|HACK)\b": ("a note to self: do it, or write an issue", set()),
}
# Where a banned name is declared and defined, the real thing's own tests, and what has nothing else to wait with.
DEFINES: dict[str, set[str]] = {
    _SLEEP: {"base/line_writer.cc"},  # a program that is broken takes no lock any more
    # Containers of `tidemark up` are programs. `tidemark` starts its other executables. The agent may use neither: see MAY_USE.
    # Containers of `tidemark up` are programs. `tidemark` starts its other executables. The agent may use neither: see MAY_USE.
    # A kubeconfig may name a credential plugin; main/ runs none for the agent (ClusterOptions::runs_plugins).
    _STARTS_A_PROGRAM: {"runtime/containers.cc", "runtime/shim/shim.cc", "main/start_beside.cc", "kube/plugin_process.cc"},
    r"\bSystemClock\b": {"base/clock.h", "base/clock.cc", "base/clock_test.cc"},
    r"\bseed_from_system\b": {"base/random.h", "base/random.cc", "base/random_test.cc"},
}

# Third parties stay behind our interfaces: never in a header of ours. (kube/memory keeps its store behind one as well.)
HEADER_BANNED_INCLUDES = r"#include\s*[<\"](openssl/|nghttp2/|sqlite3|expat|yaml-cpp/|yaml\.h|zlib|krb5|gssapi)"
HEADER_HEAVY_INCLUDES = r"#include\s*<(iostream|regex|filesystem|format|print|sstream|fstream|random|future)>"

MAX_LINES = 700
README_WORDS = ("**What:**", "**Layer:**", "**May use:**")

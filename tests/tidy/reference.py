"""docs/guide/reference/{metrics,reasons,keys,flags}.md, made from the code: PYTHONPATH=tests python3 -m tidy.reference

Metrics, reasons and keys are read from their declarations, and `./dev tidy` compares the pages. Flags are the output of `--help`,
and a unit test compares that page, because it needs the program.
"""

import re
import subprocess
from pathlib import Path
from typing import Callable

from tidy import docs
from tidy.source import Tree, is_test, line_of, top

FOLDER = "docs/guide/reference/"
MAKE = "PYTHONPATH=tests python3 -m tidy.reference"
_MADE = f"{docs.MADE} by {MAKE} -->"
_TEXT = r'"(?:\\.|[^"\\])*"'
_METRIC = re.compile(r'"((?:tidemark|slo_controller|yarn_node)_[a-z0-9_]+)"')
_HELP = re.compile(rf'\s*,\s*(?:"(counter|gauge)",\s*)?((?:{_TEXT}\s*)+)')
_CALL = re.compile(r"(counter|gauge|histogram)\(\s*$")
_OFFLINE_FILES = ("manager/capacity/figures.cc", "yarn_operator/node_figures.cc")  # pages made for each request
# Labels that stand elsewhere than in the registration, by the start of the name.
_LABELS = {
    "slo_controller_node_extended": "node,resource,unit", "slo_controller_nodeslo": "status,reason", "slo_controller_nodemetric": "status,reason",
    "tidemark_manager_nodes": "pool,reason", "tidemark_manager_nodes_silent": "pool", "tidemark_manager_pool_info": "pool,business",
    "tidemark_manager_capacity_cpu": "pool", "tidemark_manager_capacity_memory": "pool", "tidemark_manager_gain": "pool", "tidemark_manager_idle": "pool",
    "tidemark_manager_offered": "pool", "tidemark_manager_used": "pool", "tidemark_manager_sold": "pool,side", "tidemark_nodes_on": "pool",
    "tidemark_nodes_observed": "pool", "tidemark_nodes_draining": "pool", "tidemark_nodes_off": "pool", "tidemark_observed": "pool",
    "tidemark_reclaim_": "pool,side", "tidemark_agent_class_": "class", "tidemark_agent_disk_free": "component", "tidemark_agent_disk_inodes": "component",
    "tidemark_yarn_operator_cluster_up": "cluster", "yarn_node": "instance,cluster",
    "tidemark_online_": "workload,business", "tidemark_offline_": "class,side",
}
_REASON = re.compile(rf'^ *// (TM-[A-Z]+) \((\S+)\): (.+)$|ReasonInfo\{{Reason::\w+, "(TM-[A-Z]+-\d+)",\s*((?:{_TEXT}\s*)+)\}}', re.M)
_KEY = re.compile(r'string_view k(\w+)\s*=\s*"(tidemark\.io/[a-z-]+)";(?: *// (.*))?')
_DAEMONS = ("manager", "agent", "yarn-operator", "yarn-copilot", "up")


def _join(literals: str) -> str:
    return re.sub(r"\\(.)", r"\1", "".join(part[1:-1] for part in re.findall(_TEXT, literals)))


def _rest_of_call(text: str, begin: int) -> str:
    depth = 1
    for match in re.compile(_TEXT + r"|[()\[\]{}]").finditer(text, begin):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return text[begin:match.start()]
    return text[begin:]


def _product(tree: Tree) -> list[str]:
    return [file for file in tree.cxx if not is_test(file) and "/testing/" not in file and top(file) not in ("bench", "tests", "demo")]


def _kind(name: str) -> str:
    return "counter" if name.endswith(("_total", "_count")) else "gauge"


def metrics(tree: Tree) -> tuple[str, list[str]]:
    """The page, and metrics without a help text."""
    rows: dict[str, dict[str, str]] = {}
    wrong = []
    for file in _product(tree):
        text = tree.text(file)
        for match in _METRIC.finditer(text) if file.endswith(".cc") else ():
            name, rest = match[1], _rest_of_call(text, match.end())
            help_text = _HELP.match(rest)
            if not help_text:
                wrong.append(f"{file}:{line_of(text, match.start())}: {name}: its help does not follow its name")
                continue
            kind = _CALL.search(text, max(0, match.start() - 200), match.start())
            listed = max((each for each in _LABELS if name.startswith(each)), key=len, default="")
            labels = ",".join(re.findall(r'\{"([a-z]+)",', rest)) or _LABELS.get(listed, "")
            shown = f"{name}{{{labels}}}" if labels else name
            says = _join(help_text[2]).rstrip(".")
            page = "online" if "workload" in labels else "offline" if re.search(r"\b(pool|class)\b", labels) or file in _OFFLINE_FILES else ""
            row = f"| `{shown}` | {kind[1] if kind else help_text[1] or _kind(name)} | {page} | {says} |"
            rows.setdefault("/".join(file.split("/")[:2]) if file.startswith("kube/memory") else top(file), {}).setdefault(name, row)
    lines = ["# Metrics", "", _MADE, "", "All programs serve `/metrics` in the text format of Prometheus. Metrics with a page are on `/metrics/online` or `/metrics/offline`;",
             "`/all-metrics` has all ([monitoring](../monitoring.md)). A sum over replicas is right: only the leader shows values by pool and by node.",
             "The label `reason` has the ids of [reasons](reasons.md).", ""]
    for folder, found in sorted(rows.items()):
        lines += [f"## {folder}", "", "| metric | type | page | meaning |", "|---|---|---|---|", *(found[name] for name in sorted(found)), ""]
    return "\n".join(lines), wrong


def reasons(tree: Tree) -> tuple[str, list[str]]:
    """The page, and groups without a sentence in model/reason.cc."""
    groups: dict[str, list[str]] = {}
    about = {}
    for match in _REASON.finditer(tree.text("model/reason.cc") if "model/reason.cc" in tree.files else ""):
        if match[1]:
            about[match[1]] = f"{match[3]} More: [{Path(match[2].split('#')[0]).stem}](../{match[2]})."
        else:
            groups.setdefault(match[4].rsplit("-", 1)[0], []).append(f"| `{match[4]}` | {_join(match[5])} |")
    lines = ["# Reasons", "", _MADE, "", "Every decision, event and refusal carries the id of its reason: in `tidemark explain`, in events, conditions and logs, in the",
             "label `reason` of metrics, in the [audit](../audit.md) and in the journal. The meaning of an id never changes.", ""]
    for group in groups:
        lines += [f"## {group}", "", about.get(group, ""), "", "| id | meaning |", "|---|---|", *sorted(groups[group]), ""]
    return "\n".join(lines), [f"model/reason.cc: a line `// {group} (GUIDE.md): what it is about` is missing above its first reason" for group in groups if group not in about]


def keys(tree: Tree) -> tuple[str, list[str]]:
    """The page, and keys without a comment."""
    rows, wrong = {}, []
    for file in sorted(_product(tree), key=lambda file: top(file) != "model"):
        text, above = tree.text(file), ""
        for number, line in enumerate(text.splitlines() if "tidemark.io/" in text else [], 1):
            if line.lstrip().startswith("//"):
                above = f"{above} {line.lstrip(' /')}" if above and not ended else line.lstrip(" /")
            elif "string_view k" not in line:
                above = ""
            ended = not line.lstrip().startswith("//")
            if key := _KEY.search(line):
                kind = next((word for word in ("label", "taint", "finalizer") if key[1].lower().endswith(word)), "annotation")
                says = re.split(r"(?<=\.) (?=[A-Z])", key[3] or above.strip() or _about(text, key[2]))[0].rstrip(".:")
                says = says if len(says) <= docs.CELL else says.split(": ")[0]
                if not says and (key[2], kind) not in rows:
                    wrong.append(f"{file}:{number}: {key[2]}: a comment of one sentence is missing beside it")
                rows.setdefault((key[2], kind), f"| `{key[2]}` | {kind} | {says} |")
    lines = ["# Keys", "", _MADE, "", "Labels, annotations, taints and finalizers of Tidemark. Koordinator's are in the [contract](../../contract/koordinator.md).", "",
             "| key | type | meaning |", "|---|---|---|", *(rows[key] for key in sorted(rows)), ""]
    return "\n".join(lines), wrong


def _about(text: str, key: str) -> str:
    """The first sentence of the first comment that has the key."""
    for block in re.findall(r"(?:^ *//[^\n]*\n)+", text, re.M):
        if re.search(rf"{key}\b(?!-)", block):
            first = re.split(r"// *\n|//  +", block.lstrip(), maxsplit=1)[0]
            return " ".join(re.findall(r"// ?(.*)", first)).split(f", `{key}")[0]
    return ""


def flags(ask: Callable[[list[str]], str]) -> str:
    """`ask`: the output of `tidemark` with these arguments."""
    lines = ["# Flags", "", _MADE, "", "The flags of the programs that run all the time. `tidemark COMMAND --help` shows those of the other commands.",
             "Each flag has an environment variable, which its line shows.", ""]
    for daemon in _DAEMONS:
        lines += [f"## tidemark {daemon}", "", "```text", ask([daemon, "--help"]).split("\n", 2)[2].strip(), "```", ""]
    return "\n".join(lines)


PAGES = {"metrics.md": metrics, "reasons.md": reasons, "keys.md": keys}


def stale(tree: Tree) -> list[str]:
    """Pages that are not what the code says."""
    found = []
    for name, make in PAGES.items():
        page, wrong = make(tree)
        found += wrong
        if (tree.text(FOLDER + name) if FOLDER + name in tree.files else "") != (page if "\n| `" in page else ""):
            found.append(f"{FOLDER}{name}: is not what the code says: {MAKE}")
    return found


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    for name, make in PAGES.items():
        (root / FOLDER / name).write_text(make(Tree(root))[0])
    program = root / "build" / "tidemark"
    if program.exists():
        (root / FOLDER / "flags.md").write_text(flags(lambda words: subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout))

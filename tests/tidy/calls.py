"""The calls of `tidemark` that the docs show, in blocks and in inline code, held against what the program's own --help says:
verbs, what a verb is about, flags, whether a flag has a value, and the values of those that have a choice.

Inline code may leave out what a sentence does not need (`tidemark explain --at`); a line of a block is a whole command.
Words in capitals and … stand for something else and are not looked at.
"""

import re
import shlex
from dataclasses import dataclass, field
from typing import Callable, Iterator

from tidy.source import Tree, line_of

_FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```\s*$", re.M | re.S)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SHELLS = {"sh", "bash", "shell", "console"}
_OPERATORS = {"|", "||", "&", "&&", ";"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_STANDS_FOR = re.compile(r"[A-Z][A-Z0-9_…-]*$|…$")


@dataclass(frozen=True)
class Call:
    file: str
    line: int
    words: tuple[str, ...]  # behind the program's name
    whole: bool

    def __str__(self) -> str:
        return " ".join(("tidemark", *self.words))


@dataclass
class Help:
    """What `tidemark VERB --help` promises."""

    kinds: list[str]
    takes_words: bool
    flags: dict[str, str] = field(default_factory=dict)  # "--output" → "text|json"; "" where it takes no value

    @staticmethod
    def read(text: str) -> "Help":
        usage = re.search(r"^Usage: tidemark \S+(?: \S+)? \[flags\] *(.*)$", text, re.M)
        if not usage:
            raise ValueError(f"no line of usage in\n{text}")
        made = Help(re.findall(r"(?<![\w-])[a-z]+(?![\w-])", usage[1]), bool(usage[1]))
        for short, name, value in re.findall(r"^  (?:(-\w), |)(--[\w-]+)(?: (\S+))?", text, re.M):
            made.flags[name] = value
            if short:
                made.flags[short] = value
            # An alias stands in the flag's text: (also --other; …)
            said = re.search(rf"^  .*{name}\b(.*?)(?=^  (?:-\w, )?--|^\S|\Z)", text, re.M | re.S)
            also = re.search(r"\(also ([^;)]*)", " ".join(said[1].split()))
            for alias in re.findall(r"--[\w-]+", also[1] if also else ""):
                made.flags[alias] = value
        if re.search(r"^  -h, --help", text, re.M):
            made.flags["-h"] = ""
        return made


def calls(tree: Tree) -> Iterator[Call]:
    for file in tree.files:
        if not file.endswith(".md"):
            continue
        text = tree.text(file)
        for match in _FENCE.finditer(text):
            body, begin = match[2], line_of(text, match.start(2))
            for number, line in _lines(body):
                if match[1] not in _SHELLS:
                    if not line.lstrip().startswith("$ "):
                        continue
                    line = line.lstrip()[2:]
                yield from (Call(file, begin + number, words, True) for words in _in_line(line))
        prose = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
        for match in _INLINE.finditer(prose):
            yield from (Call(file, line_of(prose, match.start()), words, False) for words in _in_line(match[1]))


def wrong(call: Call, help_of: dict[str, Help]) -> str:
    """What the program would not take; empty when it would."""
    words = [word for word in call.words if word not in ("[flags]",)]
    if not words or words[0] in ("--version", "--help", "-h") or _STANDS_FOR.match(words[0]):
        return ""
    found = [_wrong_of(verb, words[1:], call.whole, help_of) for verb in words[0].split("|")]
    return next(filter(None, found), "")


def all_wrong(tree: Tree, help_of: dict[str, Help]) -> list[str]:
    return [f"{call.file}:{call.line}: `{call}`: {why}" for call in calls(tree) if (why := wrong(call, help_of))]


def read_helps(run: Callable[[list[str]], str]) -> dict[str, Help]:
    """`run` answers the standard output of the program with these words."""
    verbs = re.findall(r"^  ([a-z-]+) {2,}\S", run(["--help"]), re.M)
    texts = {verb: run([verb, "--help"]) for verb in verbs}
    for verb, text in list(texts.items()):
        # A verb with commands of its own: each has its flags.
        own = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
        for word in re.findall(r"^  ([a-z-]+) {2,}\S", own[1] if own else "", re.M):
            texts[f"{verb} {word}"] = run([verb, word, "--help"])
    return {verb: Help.read(text) for verb, text in texts.items()}


def _wrong_of(verb: str, words: list[str], whole: bool, help_of: dict[str, Help]) -> str:
    if verb not in help_of:
        return f"no such command as `{verb}`, there are {', '.join(help_of)}"
    known = help_of[verb]
    if words and f"{verb} {words[0]}" in help_of:
        return _wrong_of(f"{verb} {words[0]}", words[1:], whole, help_of)
    if words and "|" in words[0] and all(f"{verb} {word}" in help_of for word in words[0].split("|")):
        return next(filter(None, (_wrong_of(f"{verb} {word}", words[1:], whole, help_of) for word in words[0].split("|"))), "")
    if "--help" in words:
        return ""
    nameless = "--local" in words  # this machine has no name
    plain = []
    while words:
        word = words.pop(0)
        if word == "--":  # what follows is a command of its own
            plain += words
            break
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in known.flags:
            return f"`tidemark {verb}` has no flag `{name}`"
        form = known.flags[name]
        if not form:
            if equals and value not in ("true", "false"):
                return f"`{name}` takes no value"
            continue
        if not equals:
            if words and not words[0].startswith("-"):
                value = words.pop(0)
            elif whole:
                return f"`{name}` wants a value"
            else:
                continue
        choice = form.split("|")
        if len(choice) > 1 and not _STANDS_FOR.match(value) and value not in choice:
            return f"`{name}` is one of {', '.join(choice)}, not `{value}`"
    if plain and not known.takes_words:
        return f"`tidemark {verb}` takes no word beside its flags, found `{plain[0]}`"
    if whole and not plain and known.takes_words and not nameless:
        return f"`tidemark {verb}` wants one of {', '.join(known.kinds)}"
    for kind in plain[0].split("|") if plain and known.kinds else []:
        if kind not in known.kinds and not _STANDS_FOR.match(kind):
            return f"`tidemark {verb}` is about {', '.join(known.kinds)}, not about `{kind}`"
    return ""


def _lines(body: str) -> Iterator[tuple[int, str]]:
    """Whole commands with the line each begins in: a backslash at the end goes on."""
    held, begin = "", 0
    for number, line in enumerate(body.split("\n")):
        begin = begin if held else number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield begin, held + line
        held = ""


def _in_line(line: str) -> Iterator[tuple[str, ...]]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # a quote that prose leaves open; `bash -n` judges blocks
        words = line.split()
    for index, word in enumerate(words):
        if word.rsplit("/", 1)[-1] != "tidemark":
            continue
        before = words[:index]
        if all(_ASSIGNMENT.match(other) for other in before) or before[-1] in _OPERATORS or before[-1] == "--":
            behind = words[index + 1 :]
            end = next((i for i, other in enumerate(behind) if other in _OPERATORS or re.match(r"\d?>", other)), len(behind))
            yield tuple(behind[:end])

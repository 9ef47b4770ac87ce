#!/usr/bin/env python3
"""Writes protobuf_fields_data.cc: the field numbers of the built-in kinds, from the .proto files that Kubernetes publishes.

  protobuf_fields_generate.py .../api/openapi-spec/swagger.json .../k8s.io/api@vX .../k8s.io/apimachinery@vX > protobuf_fields_data.cc

One line a message, `Name number:field ...`; `number:~Message` is a message whose fields are those of the object around it, and
a `*` marks what is a pointer in Go, so that its zero is a value and not an absence. Only numbers and names are taken.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import builtin_types_generate as types

PROTOS = ["core/v1", "apps/v1", "batch/v1", "coordination/v1", "scheduling/v1", "policy/v1", "rbac/v1", "events/v1", "storage/v1",
          "autoscaling/v1"]
META = "pkg/apis/meta/v1"


def messages(path, prefix):
    out, name = {}, None
    for line in open(path):
        line = line.split("//")[0].strip()
        if m := re.match(r"message (\w+) \{", line):
            name = prefix + m.group(1)
            out[name] = []
        elif m := re.match(r"(?:optional|repeated|required)?\s*(map<[^>]*>|[.\w]+)\s+(\w+) = (\d+);", line):
            if name: out[name].append((int(m.group(3)), m.group(2), m.group(1).split(".")[-1]))
    return out


def pointers(path, prefix):
    out, name = {}, None
    for line in open(path):
        line = line.strip()
        if m := re.match(r"type (\w+) struct \{", line):
            name = prefix + m.group(1)
            out[name] = set()
        elif name and (m := re.match(r'\w+\s+\*[\w.]+\s+`.*json:"(\w+)', line)):
            out[name].add(m.group(1))
    return out


def main():
    lines = types.lines_of(sys.argv[1])
    known = {line.split()[0]: {word.split(":")[0] for word in line.split()[1:]} for line in lines}
    found = messages(sys.argv[3] + "/" + META + "/generated.proto", "")
    for group in PROTOS:
        found.update({k: v for k, v in messages(f"{sys.argv[2]}/{group}/generated.proto", "events_" if group.startswith("events") else "").items()
                      if k not in found})
    pointer = pointers(sys.argv[3] + "/" + META + "/types.go", "")
    for group in PROTOS:
        for k, v in pointers(f"{sys.argv[2]}/{group}/types.go", "events_" if group.startswith("events") else "").items():
            pointer.setdefault(k, v)
    wanted, out = sorted(known), {}
    while wanted:
        name = wanted.pop()
        if name in out or name not in found: continue
        words = []
        for number, field, kind in found[name]:
            if name in known and field not in known[name]:
                if kind not in found: continue
                words.append(f"{number}:~{kind}")
                wanted.append(kind)
            else:
                words.append(f"{number}:{field}" + ("*" if field in pointer.get(name, ()) else ""))
        out[name] = words
    types.print_table("protobuf_fields_generate.py", "kube/memory/protobuf.h", "kProtobufLines",
                      [" ".join([name] + words) for name, words in sorted(out.items())])


main()

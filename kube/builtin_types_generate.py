#!/usr/bin/env python3
"""Writes builtin_types_data.cc: the fields of the built-in kinds, from the OpenAPI document that Kubernetes publishes.

  builtin_types_generate.py .../api/openapi-spec/swagger.json > kube/builtin_types_data.cc

One line a type, `Name field:code ...`; the codes are explained in builtin_types.h. Only names, types and merge keys are taken.
"""
import json
import sys

ROOTS = """
core.v1: Node Pod Namespace ConfigMap Secret Service Endpoints Event ServiceAccount PersistentVolume PersistentVolumeClaim
         ResourceQuota LimitRange Binding PodTemplate
apps.v1: Deployment ReplicaSet DaemonSet StatefulSet
batch.v1: Job CronJob
coordination.v1: Lease
scheduling.v1: PriorityClass
policy.v1: PodDisruptionBudget Eviction
rbac.v1: Role RoleBinding ClusterRole ClusterRoleBinding
events.v1: Event
storage.v1: StorageClass
autoscaling.v1: Scale
"""
EXTRA = ["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
         "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"]
OPAQUE = {"JSONSchemaProps", "JSON", "RawExtension", "FieldsV1", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray"}


def short(ref):
    parts = ref.split(".")
    name = parts[-1]
    if ref.startswith("io.k8s.api.events."):
        return "events_" + name
    return name


def lines_of(swagger):
    definitions = json.load(open(swagger))["definitions"]
    queue = []
    group = ""
    for word in ROOTS.split():
        if word.endswith(":"):
            group = word[:-1]
        else:
            queue.append(f"io.k8s.api.{group}.{word}")
    queue += EXTRA
    done, lines = {}, []

    def code(schema):
        if "$ref" in schema:
            ref = schema["$ref"].split("/")[-1]
            name = short(ref)
            if name == "Quantity": return "q"
            if name == "Time": return "t"
            if name == "MicroTime": return "u"
            if name == "IntOrString": return "x"
            if name in OPAQUE: return "o"
            if ref not in done and ref not in queue:
                queue.append(ref)
            return "@" + name
        kind = schema.get("type")
        if kind == "string":
            return "y" if schema.get("format") == "byte" else "s"
        if kind == "integer": return "i" if schema.get("format") == "int32" else "l"
        if kind == "number": return "f"
        if kind == "boolean": return "b"
        if kind == "array": return "[" + code(schema["items"])
        if kind == "object":
            return "{" + code(schema["additionalProperties"]) if "additionalProperties" in schema else "o"
        return "o"

    while queue:
        ref = queue.pop(0)
        if ref in done: continue
        done[ref] = True
        schema = definitions[ref]
        required = set(schema.get("required", []))
        words = [short(ref)]
        for field, value in sorted(schema.get("properties", {}).items()):
            refs = value.get("allOf")
            inner = dict(value, **refs[0]) if refs else value
            word = field + ":" + code(inner)
            if field in required: word += "!"
            strategy = value.get("x-kubernetes-patch-strategy", "")
            if "merge" in strategy.split(","):
                word += "/m" + value.get("x-kubernetes-patch-merge-key", "")
            if "retainKeys" in strategy: word += "/r"
            words.append(word)
        lines.append(" ".join(words))

    names = [line.split()[0] for line in lines]
    assert len(names) == len(set(names)), [n for n in names if names.count(n) > 1]
    return sorted(lines)


def print_table(script, header, array, lines):
    print(f"// Written by {script}; do not edit.")
    print(f'#include "{header}"\n')
    print("namespace tidemark::kube {\n")
    print(f"const char* const {array}[] = {{")
    for line in lines:
        pieces, row = [], ""
        for word in line.split():
            if len(row) + len(word) > 105:
                pieces.append(row)
                row = ""
            row += word + " "
        pieces.append(row.rstrip())
        print("\n".join(f'    "{p}"' for p in pieces) + ",")
    print("    nullptr,\n};\n\n}  // namespace tidemark::kube")


if __name__ == "__main__":
    print_table("builtin_types_generate.py", "kube/builtin_types.h", "kBuiltinTypeLines", lines_of(sys.argv[1]))

"""Custom resources: definitions, validation, defaults, pruning, sub-resources."""

import json

from contract.client import TABLE, wait_until
from contract.suite import T, case

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10, "format": "int32"},
                "color": {"type": "string", "enum": ["red", "green"], "default": "green"},
                "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
                "ratio": {"type": "number"},
                "on": {"type": "boolean"},
                "tags": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
                "parts": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "weight": {"type": "integer", "default": 1}}},
                          "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
                "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "maybe": {"type": "string", "nullable": True},
                "when": {"type": "string", "format": "date-time"},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}, "count": {"type": "integer", "default": 0}}},
    },
}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how large"},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def definition(group: str, *, plural: str = "widgets", kind: str = "Widget", scope: str = "Namespaced", schema: dict | None = None, **version) -> dict:
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group, "scope": scope, "names": {"plural": plural, "kind": kind, "shortNames": ["wd"], "categories": ["contract"]},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or SCHEMA}, **version}],
        },
    }


def established(t: T, name: str) -> dict:
    def look():
        held = t.api.get(f"{CRDS}/{name}")
        conditions = {c["type"]: c["status"] for c in held.get("status.conditions") or []}
        return held.json if conditions.get("Established") == "True" else None

    return wait_until(look, what=f"{name} is established")


def served(t: T, path: str) -> None:
    """Established comes a moment before the first handler."""
    wait_until(lambda: t.api.get(path).status == 200, what=f"{path} is served")


def make(t: T, body: dict) -> dict:
    made = t.made(t.api.post(CRDS, body))
    held = established(t, made["metadata"]["name"])
    for version in body["spec"]["versions"]:
        if version["served"]:
            served(t, f"/apis/{body['spec']['group']}/{version['name']}/{body['spec']['names']['plural']}")
    return held


def _group(t: T) -> str:
    """One definition for all cases that only need some custom kind. It stays until the end of the run."""
    def make_it() -> str:
        group = f"g{t.run.mark}.example.com"
        body = definition(group, subresources={"status": {}}, additionalPrinterColumns=COLUMNS)
        make(t.run.owner(), body)
        return group

    return t.run.once("widgets", make_it)


def _widgets(t: T, name: str = "") -> str:
    return t.group(f"{_group(t)}/v1", "widgets", name)


def _widget(t: T, name: str = "w", spec: dict | None = None, **more) -> dict:
    return {"apiVersion": f"{_group(t)}/v1", "kind": "Widget", "metadata": {"name": name, **more.pop("metadata", {})}, "spec": {"size": 3} if spec is None else spec, **more}


def _invalid(t: T, answer, name: str, *causes: tuple[str, str, str]) -> None:
    t.invalid(answer, "Widget", name, *causes, group=_group(t))


@case
def definition_is_completed_and_established(t: T):
    group = f"{t.name('d')}.example.com"
    held = make(t, definition(group))
    t.has({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}, held["spec"]["names"])
    t.equal(held["spec"]["names"], held["status"]["acceptedNames"])
    t.equal(["v1"], held["status"]["storedVersions"])
    t.equal({"NamesAccepted": "True", "Established": "True"}, {c["type"]: c["status"] for c in held["status"]["conditions"]})
    t.equal({"strategy": "None"}, held["spec"]["conversion"])


@case
def definition_name_must_be_plural_and_group(t: T):
    body = definition("d.example.com")
    body["metadata"]["name"] = "wrong.d.example.com"
    answer = t.api.post(CRDS, body)
    t.refused(answer, 422, "Invalid")
    t.equal(("metadata.name", 'Invalid value: "wrong.d.example.com": must be spec.names.plural+"."+spec.group'), (answer["details.causes.0.field"], answer["details.causes.0.message"]))


@case
def definition_needs_a_schema(t: T):
    body = definition("d.example.com")
    del body["spec"]["versions"][0]["schema"]
    answer = t.api.post(CRDS, body)
    field = "spec.versions[0].schema.openAPIV3Schema"
    t.invalid(answer, "CustomResourceDefinition", "widgets.d.example.com", ("FieldValueRequired", field, "Required value"), group="apiextensions.k8s.io")


@case
def definition_schema_must_be_structural(t: T):
    body = definition("d.example.com", schema={"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}})
    answer = t.api.post(CRDS, body)
    cause = ("FieldValueRequired", "spec.validation.openAPIV3Schema.properties[spec].type", "Required value: must not be empty for specified object fields")
    t.invalid(answer, "CustomResourceDefinition", "widgets.d.example.com", cause, group="apiextensions.k8s.io")


@case
def definition_has_one_storage_version(t: T):
    body = definition("d.example.com")
    body["spec"]["versions"][0]["storage"] = False
    answer = t.api.post(CRDS, body)
    t.refused(answer, 422, "Invalid")
    t.true({"spec.versions"} <= {cause["field"] for cause in answer["details.causes"]}, answer["message"])
    t.true("must have exactly one version marked as storage version" in answer["message"], answer["message"])


@case
def definition_default_must_fit_its_schema(t: T):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}}}
    answer = t.api.post(CRDS, definition("d.example.com", schema=schema))
    cause = ("FieldValueInvalid", "spec.validation.openAPIV3Schema.properties[spec].properties[a].default", 'Invalid value: "string":  in body must be of type integer: "string"')
    t.refused(answer, 422, "Invalid", f'CustomResourceDefinition.apiextensions.k8s.io "widgets.d.example.com" is invalid: {cause[1]}: {cause[2]}')


@case
def definition_appears_in_discovery(t: T):
    group = _group(t)
    found = t.ok(t.api.get(f"/apis/{group}/v1")).json
    t.equal(("APIResourceList", f"{group}/v1"), (found["kind"], found["groupVersion"]))
    widgets = next(r for r in found["resources"] if r["name"] == "widgets")
    t.has({"singularName": "widget", "namespaced": True, "kind": "Widget", "shortNames": ["wd"], "categories": ["contract"]}, widgets)
    t.equal(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"], widgets["verbs"])
    status = next(r for r in found["resources"] if r["name"] == "widgets/status")
    t.equal(["get", "patch", "update"], status["verbs"])
    wait_until(lambda: group in [g["name"] for g in t.api.get("/apis")["groups"]], what="the group is in /apis")
    t.has({"kind": "APIGroup", "name": group, "versions": [{"groupVersion": f"{group}/v1", "version": "v1"}], "preferredVersion": {"version": "v1"}}, t.ok(t.api.get(f"/apis/{group}")).json)


@case
def custom_object_is_stored_with_defaults(t: T):
    made = t.made(t.api.post(_widgets(t), _widget(t, spec={"size": 3, "parts": [{"id": "a"}, {"id": "b", "weight": 5}]})))
    t.equal({"size": 3, "color": "green", "parts": [{"id": "a", "weight": 1}, {"id": "b", "weight": 5}]}, made["spec"])
    t.equal(1, made["metadata"]["generation"])
    t.equal(made["spec"], t.ok(t.api.get(_widgets(t, "w")))["spec"])


@case
def custom_object_must_name_its_kind(t: T):
    message = t.refused(t.api.post(_widgets(t), {"metadata": {"name": "w"}, "spec": {"size": 1}}), 400, "BadRequest")["message"]
    t.true(message.startswith("the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "), message)
    answer = t.api.post(_widgets(t), {**_widget(t), "kind": "Gadget"})
    t.invalid(answer, "Gadget", "w", ("FieldValueInvalid", "kind", 'Invalid value: "Gadget": must be Widget'), group=_group(t))


@case
def unknown_fields_are_pruned(t: T):
    answer = t.ok(t.api.post(_widgets(t), _widget(t, spec={"size": 3, "nonsense": 1, "parts": [{"id": "a", "more": 2}], "free": {"any": {"thing": [1]}}}, extra=5)), 201)
    t.equal({"size": 3, "color": "green", "parts": [{"id": "a", "weight": 1}], "free": {"any": {"thing": [1]}}}, answer["spec"])
    t.true("extra" not in answer.json, "also at the top level")
    t.equal(['299 - "unknown field \\"extra\\""', '299 - "unknown field \\"spec.nonsense\\""', '299 - "unknown field \\"spec.parts[0].more\\""'], sorted(answer.warnings))


@case
def unknown_fields_are_refused_when_strict(t: T):
    answer = t.api.post(_widgets(t), _widget(t, spec={"size": 3, "nonsense": 1}), fieldValidation="Strict")
    t.refused(answer, 400, "BadRequest", 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nonsense"')
    t.made(t.api.post(_widgets(t), _widget(t, spec={"size": 3, "free": {"x": 1}}), fieldValidation="Strict"))


@case
def required_fields(t: T):
    _invalid(t, t.api.post(_widgets(t), _widget(t, spec={})), "w", ("FieldValueRequired", "spec.size", "Required value"))
    body = _widget(t)
    del body["spec"]
    _invalid(t, t.api.post(_widgets(t), body), "w", ("FieldValueRequired", "spec", "Required value"))


@case
def wrong_types(t: T):
    for spec, field, message in (
        ({"size": "x"}, "spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"size": 1.5}, "spec.size", 'Invalid value: "number": spec.size in body must be of type integer: "number"'),
        ({"size": 1, "on": "yes"}, "spec.on", 'Invalid value: "string": spec.on in body must be of type boolean: "string"'),
        ({"size": 1, "tags": "x"}, "spec.tags", 'Invalid value: "string": spec.tags in body must be of type array: "string"'),
        ({"size": 1, "tags": [5]}, "spec.tags[0]", 'Invalid value: "integer": spec.tags[0] in body must be of type string: "integer"'),
        ({"size": 1, "color": 5}, "spec.color", 'Invalid value: "integer": spec.color in body must be of type string: "integer"'),
    ):
        answer = t.api.post(_widgets(t), _widget(t, spec=spec))
        t.refused(answer, 422, "Invalid")
        t.equal(("FieldValueTypeInvalid", field, message), tuple(answer["details.causes.0"][key] for key in ("reason", "field", "message")))


@case
def bounds(t: T):
    for spec, reason, field, message in (
        ({"size": 0}, "FieldValueInvalid", "spec.size", "Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": 11}, "FieldValueInvalid", "spec.size", "Invalid value: 11: spec.size in body should be less than or equal to 10"),
        ({"size": 1, "name": "x"}, "FieldValueInvalid", "spec.name", 'Invalid value: "x": spec.name in body should be at least 2 chars long'),
        ({"size": 1, "name": "ABC"}, "FieldValueInvalid", "spec.name", "Invalid value: \"ABC\": spec.name in body should match '^[a-z]+$'"),
        ({"size": 1, "color": "blue"}, "FieldValueNotSupported", "spec.color", 'Unsupported value: "blue": supported values: "red", "green"'),
        ({"size": 1, "tags": ["a", "b", "c", "d"]}, "FieldValueTooMany", "spec.tags", "Too many: 4: must have at most 3 items"),
        ({"size": 1, "name": "abcdef"}, "FieldValueTooLong", "spec.name", "Too long: may not be more than 5 bytes"),
    ):
        _invalid(t, t.api.post(_widgets(t), _widget(t, spec=spec)), "w", (reason, field, message))


@case
def lists_by_key_have_no_duplicates(t: T):
    answer = t.api.post(_widgets(t), _widget(t, spec={"size": 1, "parts": [{"id": "a"}, {"id": "a"}]}))
    _invalid(t, answer, "w", ("FieldValueDuplicate", "spec.parts[1]", 'Duplicate value: {"id":"a"}'))


@case
def int_or_string_takes_both(t: T):
    made = t.made(t.api.post(_widgets(t), _widget(t, spec={"size": 1, "limits": {"a": 5, "b": "50%"}})))
    t.equal({"a": 5, "b": "50%"}, made["spec"]["limits"])
    t.refused(t.api.post(_widgets(t), _widget(t, "v", spec={"size": 1, "limits": {"a": True}})), 422, "Invalid")


@case
def nulls(t: T):
    made = t.made(t.api.post(_widgets(t), _widget(t, spec={"size": 1, "maybe": None, "color": None})))
    t.equal({"size": 1, "maybe": None, "color": "green"}, made["spec"])
    answer = t.api.post(_widgets(t), _widget(t, "v", spec={"size": 1, "name": None}))
    t.true("name" not in t.made(answer)["spec"], "a null that is not nullable is dropped")


@case
def numbers_keep_their_kind(t: T):
    made = t.made(t.api.post(_widgets(t), _widget(t, spec={"size": 1, "ratio": 0.25, "free": {"big": 9007199254740993, "f": 1.5}})))
    t.equal((0.25, 9007199254740993, 1.5), (made["spec"]["ratio"], made["spec"]["free"]["big"], made["spec"]["free"]["f"]))


@case
def status_subresource_of_custom_objects(t: T):
    made = t.made(t.api.post(_widgets(t), _widget(t, status={"phase": "Dropped"})))
    t.true("status" not in made, "status of a create is dropped")
    answer = t.ok(t.api.merge(_widgets(t, "w") + "/status", {"status": {"phase": "Up"}, "spec": {"size": 9}}))
    t.equal(({"phase": "Up", "count": 0}, 3, 1), (answer["status"], answer["spec.size"], answer["metadata.generation"]))
    answer = t.ok(t.api.merge(_widgets(t, "w"), {"status": {"phase": "Ignored"}, "spec": {"size": 4}}))
    t.equal(("Up", 4, 2), (answer["status.phase"], answer["spec.size"], answer["metadata.generation"]))
    held = t.ok(t.api.put(_widgets(t, "w") + "/status", {**answer.json, "spec": {"size": 7}, "status": {"phase": "Down"}}))
    t.equal(("Down", 4), (held["status.phase"], held["spec.size"]))


@case
def status_patch_of_custom_objects_ignores_metadata(t: T):
    """Unlike a node's status: a status patch of a custom object changes no metadata."""
    t.made(t.api.post(_widgets(t), _widget(t)))
    answer = t.ok(t.api.merge(_widgets(t, "w") + "/status", {"status": {"phase": "Up"}, "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}))
    t.true("labels" not in answer["metadata"] and "annotations" not in answer["metadata"], "neither labels nor annotations")


@case
def strategic_merge_of_custom_objects_is_415(t: T):
    t.made(t.api.post(_widgets(t), _widget(t)))
    answer = t.api.strategic(_widgets(t, "w"), {"spec": {"size": 4}})
    t.refused(answer, 415, "UnsupportedMediaType",
              "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")


@case
def merge_and_json_patch_of_custom_objects(t: T):
    t.made(t.api.post(_widgets(t), _widget(t, spec={"size": 3, "tags": ["a", "b"]})))
    t.equal(["c"], t.ok(t.api.merge(_widgets(t, "w"), {"spec": {"tags": ["c"]}}))["spec.tags"])
    t.equal(["c", "d"], t.ok(t.api.json_patch(_widgets(t, "w"), {"op": "add", "path": "/spec/tags/-", "value": "d"}))["spec.tags"])
    _invalid(t, t.api.merge(_widgets(t, "w"), {"spec": {"size": 99}}), "w", ("FieldValueInvalid", "spec.size", "Invalid value: 99: spec.size in body should be less than or equal to 10"))


@case
def put_of_a_custom_object_wants_a_revision(t: T):
    made = t.made(t.api.post(_widgets(t), _widget(t)))
    made["spec"]["size"] = 5
    t.equal(5, t.ok(t.api.put(_widgets(t, "w"), made))["spec.size"])
    t.refused(t.api.put(_widgets(t, "w"), made), 409, "Conflict")
    answer = t.api.put(_widgets(t, "w"), _widget(t))
    t.invalid(answer, "widgets", "w", ("FieldValueInvalid", "metadata.resourceVersion", "Invalid value: 0: must be specified for an update"), group=_group(t))


@case
def custom_objects_are_listed_and_watched(t: T):
    t.made(t.api.post(_widgets(t), _widget(t, "a", metadata={"labels": {"x": "y"}})))
    t.made(t.api.post(_widgets(t), _widget(t, "b")))
    found = t.ok(t.api.get(_widgets(t), labelSelector="x=y")).json
    t.equal(("WidgetList", f"{_group(t)}/v1", ["a"]), (found["kind"], found["apiVersion"], [item["metadata"]["name"] for item in found["items"]]))
    t.equal("Widget", found["items"][0]["kind"], "items of custom lists name their kind")
    start = t.api.get(_widgets(t))["metadata.resourceVersion"]
    with t.api.watch(_widgets(t), resourceVersion=start) as watch:
        t.ok(watch)
        t.ok(t.api.delete(_widgets(t, "b")))
        t.equal("b", watch.next("DELETED")["metadata"]["name"])


@case
def printer_columns_make_the_table(t: T):
    t.made(t.api.post(_widgets(t), _widget(t)))
    t.ok(t.api.merge(_widgets(t, "w") + "/status", {"status": {"phase": "Up"}}))
    table = t.ok(t.api.get(_widgets(t), accept=TABLE)).json
    t.equal([("Name", "string", 0), ("Size", "integer", 0), ("Color", "string", 0), ("Phase", "string", 1), ("Age", "date", 0)],
            [(c["name"], c["type"], c["priority"]) for c in table["columnDefinitions"]])
    t.equal(["w", 3, "green", "Up"], table["rows"][0]["cells"][:4])


@case
def empty_columns_are_null(t: T):
    t.made(t.api.post(_widgets(t), _widget(t)))
    t.equal(["w", 3, "green", None], t.ok(t.api.get(_widgets(t), accept=TABLE))["rows.0.cells"][:4])


@case
def cluster_scoped_custom_kinds(t: T):
    group = f"{t.name('c')}.example.com"
    make(t, definition(group, scope="Cluster"))
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    made = t.made(t.api.post(f"/apis/{group}/v1/widgets", body))
    t.true("namespace" not in made["metadata"], "no namespace")
    t.equal(b"404 page not found\n", t.ok(t.api.get(f"/apis/{group}/v1/namespaces/{t.ns}/widgets"), 404).body)
    t.ok(t.api.get(f"/apis/{group}/v1/widgets/w"))


@case
def two_served_versions_show_the_same_objects(t: T):
    group = f"{t.name('v')}.example.com"
    body = definition(group)
    body["spec"]["versions"].append({"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": SCHEMA}})
    make(t, body)
    t.made(t.api.post(f"/apis/{group}/v1/namespaces/{t.ns}/widgets", {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}))
    seen = t.ok(t.api.get(f"/apis/{group}/v2/namespaces/{t.ns}/widgets/w"))
    t.equal((f"{group}/v2", 1), (seen["apiVersion"], seen["spec.size"]))
    t.equal("v2", t.ok(t.api.get(f"/apis/{group}"))["preferredVersion.version"], "the newest stable version is preferred")


@case
def definition_may_change(t: T):
    group = f"{t.name('u')}.example.com"
    name = f"widgets.{group}"
    held = make(t, definition(group))
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "more": {"type": "string"}}}
    held["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    answer = t.ok(t.api.put(f"{CRDS}/{name}", t.api.get(f"{CRDS}/{name}").json | {"spec": held["spec"]}))
    t.equal(2, answer["metadata.generation"])
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "spec": {"size": 1}, "more": "kept"}
    path = f"/apis/{group}/v1/namespaces/{t.ns}/widgets"

    def kept():
        # The real server restarts the handler of the kind; 503 is valid meanwhile.
        answer = t.api.post(path, {**body, "metadata": {"generateName": "w-"}})
        return answer.status != 503 and t.made(answer).get("more") == "kept"

    wait_until(kept, what="the new schema is in force")


@case
def group_and_scope_are_immutable(t: T):
    group = f"{t.name('i')}.example.com"
    make(t, definition(group))
    answer = t.api.merge(f"{CRDS}/widgets.{group}", {"spec": {"scope": "Cluster"}})
    t.refused(answer, 422, "Invalid")
    t.equal("spec.scope", answer["details.causes.0.field"])


@case
def deleting_a_definition_takes_its_objects(t: T):
    group = f"{t.name('x')}.example.com"
    make(t, definition(group))
    path = f"/apis/{group}/v1/namespaces/{t.ns}/widgets"
    t.made(t.api.post(path, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}))
    t.equal("CustomResourceDefinition", t.ok(t.api.delete(f"{CRDS}/widgets.{group}"))["kind"])
    wait_until(lambda: t.api.get(f"{CRDS}/widgets.{group}").status == 404, what="the end of the definition")
    wait_until(lambda: t.api.get(path).status == 404, what="the end of its path")


def _second(group: str, kind: str) -> dict:
    """Another definition of that group, with only the required names."""
    body = definition(group, plural="others", kind=kind)
    body["spec"]["names"] = {"plural": "others", "kind": kind}
    return body


def _conditions(held: dict) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in held["status"].get("conditions") or []}


def _settled(t: T, path: str, accepted: tuple[str, str, str]) -> dict:
    """Waits until the definition has this status of its names."""
    def look():
        held = t.ok(t.api.get(path)).json
        return held if _conditions(held).get("NamesAccepted") == accepted else None

    return wait_until(look, what=f"NamesAccepted {accepted}")


NO_CONFLICT = ("True", "NoConflicts", "no conflicts found")
ESTABLISHED = ("True", "InitialNamesAccepted", "the initial names have been accepted")


def _in_use(reason: str, *words: str) -> tuple[str, str, str]:
    shown = [f'"{word}" is already in use' for word in words]
    return ("False", reason, shown[0] if len(shown) == 1 else "[" + ", ".join(shown) + "]")


@case
def names_in_use_are_not_accepted_until_they_are_free(t: T):
    group = f"{t.name('n')}.example.com"
    make(t, definition(group))
    path = f"{CRDS}/others.{group}"
    t.made(t.api.post(CRDS, _second(group, "Widget")))
    held = _settled(t, path, _in_use("ListKindConflict", "WidgetList"))
    t.equal(("False", "NotAccepted", "not all names are accepted"), _conditions(held)["Established"])
    t.equal({"plural": "others", "kind": ""}, held["status"]["acceptedNames"])
    t.equal(["v1"], held["status"]["storedVersions"])
    t.equal(404, t.api.get(f"/apis/{group}/v1/others").status, "a kind without accepted names is not served")

    t.ok(t.api.delete(f"{CRDS}/widgets.{group}"))
    held = _settled(t, path, NO_CONFLICT)
    t.equal(held["spec"]["names"], held["status"]["acceptedNames"])
    wait_until(lambda: t.api.get(f"/apis/{group}/v1/others").status == 200, what="the kind under its released names")


@case
def names_of_an_unaccepted_definition_may_be_changed(t: T):
    group = f"{t.name('n')}.example.com"
    make(t, definition(group))
    path = f"{CRDS}/others.{group}"
    t.made(t.api.post(CRDS, _second(group, "Widget")))
    _settled(t, path, _in_use("ListKindConflict", "WidgetList"))
    t.ok(t.api.merge(path, {"spec": {"names": {"kind": "Other", "listKind": "OtherList", "shortNames": ["ot"]}}}))
    held = _settled(t, path, _in_use("SingularConflict", "widget"))
    t.equal({"plural": "others", "shortNames": ["ot"], "kind": "Other", "listKind": "OtherList"}, held["status"]["acceptedNames"], "free names are accepted")
    t.ok(t.api.merge(path, {"spec": {"names": {"singular": "other"}}}))
    _settled(t, path, NO_CONFLICT)
    wait_until(lambda: t.api.get(f"/apis/{group}/v1/others").status == 200, what="it is served")
    answer = t.api.merge(path, {"spec": {"names": {"kind": "Another"}}})
    t.refused(answer, 422, "Invalid")
    t.equal(("spec.names.kind", "Invalid value: \"Another\": field is immutable"), (answer["details.causes.0.field"], answer["details.causes.0.message"]))


@case
def an_established_definition_that_wants_a_name_in_use_keeps_its_own(t: T):
    group = f"{t.name('n')}.example.com"
    make(t, definition(group))
    t.made(t.api.post(CRDS, _second(group, "Other")))
    _settled(t, f"{CRDS}/others.{group}", NO_CONFLICT)
    path = f"{CRDS}/widgets.{group}"
    names = t.ok(t.api.get(path))["status.acceptedNames"]
    t.ok(t.api.merge(path, {"spec": {"names": {"shortNames": ["other", "others", "free"]}}}))
    held = _settled(t, path, _in_use("ShortNamesConflict", "other", "others"))
    t.equal(ESTABLISHED, _conditions(held)["Established"])
    t.equal(names, held["status"]["acceptedNames"])
    t.ok(t.api.get(f"/apis/{group}/v1/widgets"))
    t.ok(t.api.delete(f"{CRDS}/others.{group}"))
    held = _settled(t, path, NO_CONFLICT)
    t.equal(["other", "others", "free"], held["status"]["acceptedNames"]["shortNames"])


@case
def definition_stripped_of_its_finalizer_leaves_its_objects_until_it_comes_back(t: T):
    group = f"{t.name('d')}.example.com"
    body = definition(group, schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    make(t, body)
    path, crd = t.group(f"{group}/v1", "widgets"), f"{CRDS}/{body['metadata']['name']}"
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["example.com/hold"]}}
    t.made(t.api.post(path, widget))
    t.ok(t.api.delete(crd))
    wait_until(lambda: t.api.get(f"{path}/w").get("metadata.deletionTimestamp", None), what="the deletion timestamp of the object")
    t.ok(t.api.merge(crd, {"metadata": {"finalizers": []}}))
    t.refused(t.api.get(crd), 404, "NotFound")
    wait_until(lambda: t.api.get(f"{path}/w").status == 404, what="the kind to be withdrawn")
    make(t, body)
    t.true("deletionTimestamp" in t.ok(t.api.get(f"{path}/w"))["metadata"], "the object still exists and is still being deleted")
    t.refused(t.api.post(path, widget), 409, "AlreadyExists")
    t.ok(t.api.merge(f"{path}/w", {"metadata": {"finalizers": None}}))
    t.refused(t.api.get(f"{path}/w"), 404, "NotFound")


@case
def objects_grow_up_to_the_limit_of_the_storage(t: T):
    """A request has at most 3 MiB, and an object at most 1.5 MiB, whatever the number of requests."""
    group = f"{t.name('d')}.example.com"
    make(t, definition(group, schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    path = t.group(f"{group}/v1", "widgets")
    head = {"apiVersion": f"{group}/v1", "kind": "Widget"}
    t.made(t.api.post(path, {**head, "metadata": {"name": "w"}}))
    for number in range(3):
        t.ok(t.api.merge(f"{path}/w", {"spec": {f"f{number}": "x" * 500_000}}))
    for _ in range(2):
        t.refused(t.api.merge(f"{path}/w", {"spec": {"more": "x" * 100_000}}), 500, None, "etcdserver: request is too large")
    t.ok(t.api.merge(f"{path}/w", {"spec": {"f0": None}}))
    t.ok(t.api.merge(f"{path}/w", {"spec": {"more": "x" * 100_000}}))
    t.made(t.api.post(path, {**head, "metadata": {"name": "large"}, "spec": {"a": "x" * 1_560_000}}))
    t.refused(t.api.post(path, {**head, "metadata": {"name": "larger"}, "spec": {"a": "x" * 1_580_000}}), 500, None, "etcdserver: request is too large")
    t.ok(t.api.post(path, {**head, "metadata": {"name": "dry"}, "spec": {"a": "x" * 1_580_000}}, dryRun="All"), 201)


# For each format: accepted and refused texts.
FORMATS = {
    "ipv4": (["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], ["", "1.2.3", "::1", "256.1.1.1", "1.2.3.4.5", " 1.2.3.4"]),
    "ipv6": (["::1", "::ffff:1.2.3.4"], ["1.2.3.4", "fe80::1%eth0", "g::", ":::", "1::2::3", "[::1]", "12345::"]),
    "ip": (["1.2.3.4", "x"], []),
    "cidr": (["10.0.0.0/8", "10.0.0.1/8", "::/0", "10.0.0.0/08", "::ffff:1.2.3.4/96"], ["10.0.0.0", "10.0.0.0/33", "1.2.3.4/", "1.2.3.4/-1", "fe80::1%a/64"]),
    "uuid": (["11111111-1111-1111-1111-111111111111", "11111111111141118111111111111111", "11111111-11114111-8111-111111111111", "AAAAAAAA-1111-4111-8111-111111111111"],
             ["zzz", "{11111111-1111-4111-8111-111111111111}", "11111111-1111-4111-8111-11111111111", "11111111-1111-4111-8111-1111111111111"]),
    "uuid3": (["11111111-1111-3111-8111-111111111111"], ["11111111-1111-4111-8111-111111111111"]),
    "uuid4": (["11111111-1111-4111-8111-111111111111"], ["11111111-1111-4111-c111-111111111111", "11111111-1111-3111-8111-111111111111"]),
    "uuid5": (["11111111-1111-5111-8111-111111111111"], ["11111111-1111-4111-8111-111111111111"]),
    "email": (["a@b.c", "a@b", "A <a@b.c>", '"a b"@c', "<a@b>", "a@[1.2.3.4]", "é@b", "a@b (c)", " a@b "], ["", "x", "a@", "a b@c.d", "a.@b", "a..b@c", "a@b.", "a@b, c@d"]),
    "uri": (["http://a/b", "/a/b", "http://", "a:b", "mailto:x@y", "*", "/a b", "http://[::1]:80/", "http://u:p@h/", "//x", "/é"],
            ["", "a/b", "x", "%zz", "/%zz", "http://a b/", "http://a:x/", "http://[::1/", "a b", "\t/", "http://%41/", ":a", "1a:b"]),
    "hostname": (["a", "ab", "a-b", "a-", "a.bc", "é", "a.éé", "a-b.cd", "$"], ["a.b", "a_b", "-a", "ex ample", "1.2.3.4", "a.", "a--b", "a.b-c", "1.23", "a-b-c", "a" * 64, "a." + "b" * 64]),
    "mac": (["01:02:03:04:05:06", "01-02-03-04-05-06", "0102.0304.0506", "0102.0304.0506.0708"], ["x", "01:02", "0102:0304", "1:2:3:4:5:6"]),
    "date": (["2020-01-02", "0000-01-01"], ["2020-13-02", "2020-02-30", "2020-1-2", "x", "12020-01-02", " 2020-01-02"]),
    "date-time": (["2020-01-02T03:04:05Z", "2020-01-02t03:04:05z", "2020-01-02T03:04:05+01:00", "2020-01-02T03:04:05.123456789Z", "2020-01-02T03:04:05,5Z", "2020-01-02T03:04:05+24:00", "2020-01-02T03:04:05ZT"],
                  ["2020-01-02 03:04:05Z", "2020-01-02", "2020-01-02T03:04:05", "2020-02-30T03:04:05Z", "2020-01-02T24:04:05Z", "2020-01-02T03:04:60Z", "2020-01-02T03:04:05.Z", "2020-01-02T03:04:05+0100"]),
    "duration": (["1h", "1h30m", "5 seconds", "1d", "P1D", "-1s", "1.5h", "22 ns", "1 week", "x1d", "1d!!", "1h x2", ".5s", "1.s", "1.5d", "1µs"], ["", "x", "1", "1x", "P1Y", "9999999999999999999d"]),
    "byte": (["YQ==", "YWJj", "YWJ=", "YR=="], ["", "YQ", "Y Q==", "YQ=\n=", "YWJj\r\n", "====", "-_-_", "Y=Jj"]),
    "bsonobjectid": (["507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011"], ["x"]),
    "isbn": (["978-3161484100", "0321751043"], ["x"]),
    "isbn10": (["0321751043", "032-1751043", "0 321 75104 3"], ["x", "0321751044"]),
    "isbn13": (["978-3161484100", "978 3161484100"], ["9783161484101"]),
    "creditcard": (["4111111111111111", "4111-1111-1111-1111"], ["x", "4111111111111112"]),
    "ssn": (["111-22-3333", "111 22 3333"], ["x", "111222333 ", "111223333"]),
    "hexcolor": (["#fff", "fff", "#FFFFFF"], ["#ffff"]),
    "rgbcolor": (["rgb(1,2,3)", "rgb( 1 , 2 , 3 )"], ["x", "rgb(300,0,0)", "rgb(01,2,3)", "RGB(1,2,3)"]),
    "password": (["x"], []),
    "nonsense": (["x"], []),
}


def _check_texts(t: T, rules: dict, key: str, why) -> None:
    """`rules`: constraints of a field, with accepted and refused texts."""
    group = f"{t.name('d')}.example.com"
    fields = {f"f{number}": {"type": "string", key: rule} for number, rule in enumerate(rules)}
    make(t, definition(group, schema={"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}))
    wrong = []
    for number, (rule, (taken, refused)) in enumerate(rules.items()):
        for text in taken + refused:
            body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {f"f{number}": text}}
            answer = t.api.post(t.group(f"{group}/v1", "widgets"), body, dryRun="All")
            t.api.transcript.clear()
            if answer.status != (201 if text in taken else 422):
                wrong.append(f"{rule}: {text!r} answered {answer.status}")
            elif text in refused and not answer["details.causes.0.message"].endswith(why(rule, f"spec.f{number}", text)):
                wrong.append(f"{rule}: {answer['details.causes.0.message']}")
    t.true(not wrong, "\n".join(wrong))


@case
def formats_of_texts_are_enforced(t: T):
    _check_texts(t, FORMATS, "format", lambda rule, field, text: f": {field} in body must be of type {rule}: {json.dumps(text, ensure_ascii=False)}")


@case
def patterns_know_lines(t: T):
    """A dot matches no line end; a negated class may match one; `$` is the end of the text."""
    patterns = {
        "a.b": (["axb"], ["a\nb"]), "a[^x]b": (["a\nb"], ["axb"]), "^a$": (["a"], ["a\n", "b\na"]), "^[^a]$": (["\n"], ["a"]), "^.$": (["x"], ["\n"]),
        "a\\.b": (["a.b"], ["axb"]), "a[.]b": (["a.b"], ["axb"]), "a\\Db": (["a\nb"], ["a1b"]), "^[^\\s]$": (["a"], ["\n"]), "^.*?b$": (["aab"], ["a\nb"]),
    }
    _check_texts(t, patterns, "pattern", lambda rule, field, text: f": {field} in body should match '{rule}'")


@case
def version_that_objects_may_be_stored_in_stays(t: T):
    group = f"{t.name('d')}.example.com"
    body = definition(group, schema={"type": "object"})
    body["spec"]["versions"].append({**body["spec"]["versions"][0], "name": "v2", "storage": False})
    make(t, body)
    name = body["metadata"]["name"]
    path = f"{CRDS}/{name}"
    t.ok(t.api.json_patch(path, {"op": "replace", "path": "/spec/versions/0/storage", "value": False}, {"op": "replace", "path": "/spec/versions/1/storage", "value": True}))
    t.equal(["v1", "v2"], t.api.get(path)["status.storedVersions"])
    drop = {"op": "remove", "path": "/spec/versions/0"}
    t.invalid(t.api.json_patch(path, drop), "CustomResourceDefinition", name, (
        "FieldValueInvalid", "status.storedVersions[0]",
        'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data '
        "remains persisted in v1 and removes v1 from status.storedVersions"), group="apiextensions.k8s.io")
    t.ok(t.api.merge(f"{path}/status", {"status": {"storedVersions": ["v2"]}}))
    t.ok(t.api.json_patch(path, drop))

"""Merge patch and JSON patch, and what every patch has in common."""

from concurrent.futures import ThreadPoolExecutor

from contract.client import Client
from contract.suite import T, case


@case
def merge_adds_changes_and_removes(t: T):
    t.make_cm("a", {"keep": "1", "change": "1", "remove": "1"})
    t.equal({"keep": "1", "change": "2", "add": "1"}, t.ok(t.api.merge(t.cm("a"), {"data": {"change": "2", "remove": None, "add": "1", "absent": None}}))["data"])


@case
def merge_replaces_lists_whole(t: T):
    t.make_cm("a", finalizers=["example.com/a", "example.com/b"])
    answer = t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": ["example.com/c"]}}))
    t.equal(["example.com/c"], answer["metadata.finalizers"])
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))


@case
def merge_with_null_takes_a_whole_object_away(t: T):
    t.make_cm("a", {"x": "1"}, labels={"x": "y"})
    answer = t.ok(t.api.merge(t.cm("a"), {"data": None, "metadata": {"labels": None}}))
    t.true("data" not in answer.json and "labels" not in answer["metadata"], "both are gone")


@case
def merge_patch_must_be_an_object(t: T):
    t.make_cm("a", {"x": "1"})
    for body in (b"[]", b"5", b'"x"', b"{"):
        t.true(t.refused(t.api.merge(t.cm("a"), body), 400, "BadRequest")["message"].startswith("error decoding patch: "), f"{body!r} is refused")
    t.equal({"x": "1"}, t.api.get(t.cm("a"))["data"])


@case
def empty_patch_changes_nothing(t: T):
    made = t.make_cm("a", {"x": "1"})
    for answer in (t.api.merge(t.cm("a"), {}), t.api.strategic(t.cm("a"), {}), t.api.json_patch(t.cm("a"))):
        t.equal(made["metadata"]["resourceVersion"], t.ok(answer)["metadata.resourceVersion"])


@case
def revision_in_a_patch_is_a_precondition(t: T):
    made = t.make_cm("a", {"x": "1"})
    old = made["metadata"]["resourceVersion"]
    new = t.ok(t.api.merge(t.cm("a"), {"metadata": {"resourceVersion": old}, "data": {"x": "2"}}))["metadata.resourceVersion"]
    message = 'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again'
    for patch in (t.api.merge, t.api.strategic):
        t.refused(patch(t.cm("a"), {"metadata": {"resourceVersion": old}, "data": {"x": "3"}}), 409, "Conflict", message, {"name": "a", "kind": "configmaps"})
    operations = [{"op": "replace", "path": "/metadata/resourceVersion", "value": old}, {"op": "replace", "path": "/data/x", "value": "3"}]
    t.refused(t.api.json_patch(t.cm("a"), *operations), 409, "Conflict", message)
    t.equal((new, "2"), (t.api.get(t.cm("a"))["metadata.resourceVersion"], t.api.get(t.cm("a"))["data.x"]))


@case
def uid_in_a_patch_is_a_precondition(t: T):
    made = t.make_cm("a")
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"uid": made["metadata"]["uid"]}, "data": {"x": "1"}}))
    other = "11111111-1111-4111-8111-111111111111"
    answer = t.api.merge(t.cm("a"), {"metadata": {"uid": other}, "data": {"x": "2"}})
    t.true(t.refused(answer, 422, "Invalid")["message"].startswith(f'ConfigMap "a" is invalid: metadata.uid: Invalid value: "{other}": field is immutable'), "uid is named")


@case
def json_patch_has_six_operations(t: T):
    t.make_cm("a", {"a": "1", "b": "2", "c": "3"})
    answer = t.ok(t.api.json_patch(
        t.cm("a"),
        {"op": "test", "path": "/data/a", "value": "1"}, {"op": "add", "path": "/data/d", "value": "4"}, {"op": "remove", "path": "/data/b"},
        {"op": "replace", "path": "/data/c", "value": "33"}, {"op": "copy", "from": "/data/a", "path": "/data/e"}, {"op": "move", "from": "/data/d", "path": "/data/f"}))
    t.equal({"a": "1", "c": "33", "e": "1", "f": "4"}, answer["data"])


@case
def json_patch_indexes_lists(t: T):
    t.make_cm("a", finalizers=["example.com/b"])
    answer = t.ok(t.api.json_patch(
        t.cm("a"), {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/a"}, {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/c"}))
    t.equal(["example.com/a", "example.com/b", "example.com/c"], answer["metadata.finalizers"])
    answer = t.ok(t.api.json_patch(t.cm("a"), {"op": "remove", "path": "/metadata/finalizers/1"}))
    t.equal(["example.com/a", "example.com/c"], answer["metadata.finalizers"])
    t.ok(t.api.json_patch(t.cm("a"), {"op": "remove", "path": "/metadata/finalizers"}))


@case
def json_patch_escapes_slashes_and_tildes(t: T):
    t.make_cm("a", annotations={"example.com/key": "1", "a": "b"})
    answer = t.ok(t.api.json_patch(t.cm("a"), {"op": "replace", "path": "/metadata/annotations/example.com~1key", "value": "2"}))
    t.equal("2", answer["metadata.annotations"]["example.com/key"])


@case
def json_patch_test_that_fails_is_422_and_writes_nothing(t: T):
    t.make_cm("a", {"x": "1"})
    answer = t.api.json_patch(t.cm("a"), {"op": "replace", "path": "/data/x", "value": "2"}, {"op": "test", "path": "/data/x", "value": "1"})
    t.refused(answer, 422, "Invalid", "the server rejected our request due to an error in our request")
    t.equal("1", t.api.get(t.cm("a"))["data.x"])


@case
def json_patch_of_a_missing_path_is_422(t: T):
    t.make_cm("a", {"x": "1"})
    for operation in ({"op": "remove", "path": "/data/absent"}, {"op": "add", "path": "/absent/deep", "value": 1}, {"op": "move", "from": "/data/absent", "path": "/data/y"},
                      {"op": "remove", "path": "/metadata/finalizers/5"}, {"op": "test", "path": "/data/absent", "value": "1"}):
        t.refused(t.api.json_patch(t.cm("a"), operation), 422, "Invalid", "the server rejected our request due to an error in our request")


@case
def json_patch_replace_of_a_missing_member_adds_it(t: T):
    t.make_cm("a", {"x": "1"})
    answer = t.api.json_patch(t.cm("a"), {"op": "replace", "path": "/data/absent", "value": "1"})
    t.equal("1", t.ok(answer)["data.absent"])


@case
def json_patch_test_against_null(t: T):
    t.make_cm("a", {"x": "1"})
    t.ok(t.api.json_patch(t.cm("a"), {"op": "test", "path": "/data/absent", "value": None}, {"op": "replace", "path": "/data/x", "value": "2"}))


@case
def json_patch_that_is_malformed_is_400(t: T):
    t.make_cm("a", {"x": "1"})
    for body in (b"{}", b"5", b"[", b'"x"'):
        t.refused(t.api.request("PATCH", t.cm("a"), body, content="application/json-patch+json"), 400, "BadRequest")
    t.refused(t.api.json_patch(t.cm("a"), {"op": "explode", "path": "/data"}), 422, "Invalid", "the server rejected our request due to an error in our request", {})


@case
def json_patch_may_have_ten_thousand_operations(t: T):
    t.make_cm("a", {"x": "1"})
    one = {"op": "test", "path": "/data/x", "value": "1"}
    t.ok(t.api.json_patch(t.cm("a"), *[one] * 10000))
    t.refused(t.api.json_patch(t.cm("a"), *[one] * 10001), 413, "RequestEntityTooLarge", "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001")


@case
def unknown_patch_type_is_415(t: T):
    t.make_cm("a")
    answer = t.api.request("PATCH", t.cm("a"), {}, content="application/json")
    t.refused(answer, 415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


@case
def patched_object_is_validated(t: T):
    t.make_cm("a")
    answer = t.api.merge(t.cm("a"), {"metadata": {"labels": {"k": "a b"}}})
    t.refused(answer, 422, "Invalid")
    t.equal(("ConfigMap", "a", "metadata.labels"), (answer["details.kind"], answer["details.name"], answer["details.causes.0.field"]))


@case
def patch_to_a_wrong_type_is_refused(t: T):
    t.make_cm("a", {"x": "1"})
    for answer in (t.api.merge(t.cm("a"), {"data": {"x": 5}}), t.api.json_patch(t.cm("a"), {"op": "replace", "path": "/data/x", "value": 5}),
                   t.api.strategic(t.cm("a"), {"data": {"x": 5}})):
        body = t.refused(answer, 422, "Invalid")
        t.equal([("FieldValueInvalid", "patch")], [(cause["reason"], cause["field"]) for cause in body["details"]["causes"]])
    t.equal({"x": "1"}, t.api.get(t.cm("a"))["data"])


@case
def patch_of_immutable_spec_is_422(t: T):
    t.make_pod("p")
    answer = t.api.merge(t.pods("p"), {"spec": {"restartPolicy": "Never"}})
    t.refused(answer, 422, "Invalid")
    t.equal("spec", answer["details.causes.0.field"])
    t.true(answer["details.causes.0.message"].startswith(
        "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"), answer["details.causes.0.message"])


@case
def patch_with_strict_validation_names_unknown_fields(t: T):
    t.make_cm("a")
    answer = t.api.merge(t.cm("a"), {"date": {"x": "1"}}, fieldValidation="Strict")
    t.refused(answer, 422, "Invalid")
    t.true('strict decoding error: unknown field "date"' in answer["message"], answer["message"])
    answer = t.ok(t.api.merge(t.cm("a"), {"date": {"x": "1"}}))
    t.equal(['299 - "unknown field \\"date\\""'], answer.warnings)


@case
def patch_of_api_version_or_kind_is_refused(t: T):
    t.make_cm("a")
    t.refused(t.api.merge(t.cm("a"), {"kind": "Secret"}), 422, "Invalid")
    t.equal("ConfigMap", t.api.get(t.cm("a"))["kind"])


@case
def apply_creates_and_owns(t: T):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    answer = t.api.request("PATCH", t.cm("a"), body, content="application/apply-patch+yaml", fieldManager="me")
    t.ok(answer, 201)
    t.equal({"x": "1"}, answer["data"])


@case
def apply_needs_a_manager(t: T):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    answer = t.api.request("PATCH", t.cm("a"), body, content="application/apply-patch+yaml")
    t.invalid(answer, "PatchOptions", "", ("FieldValueRequired", "fieldManager", "Required value: is required for apply patch"), group="meta.k8s.io")


@case
def concurrent_patches_all_land(t: T):
    t.make_cm("a")

    def write(number: int) -> int:
        client = Client(t.run.target)
        try:
            return client.merge(t.cm("a"), {"data": {f"k{number}": "v"}}).status
        finally:
            client.close()

    with ThreadPoolExecutor(4) as pool:
        t.equal([200] * 4, list(pool.map(write, range(4))))
    t.equal(4, len(t.api.get(t.cm("a"))["data"]))


@case
def image_of_a_container_may_be_patched(t: T):
    t.make_pod("p")
    answer = t.ok(t.api.strategic(t.pods("p"), {"spec": {"containers": [{"name": "main", "image": "example/main:2"}]}}))
    t.equal(["example/main:2"], [c["image"] for c in answer["spec.containers"]])

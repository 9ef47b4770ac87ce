"""Create, read, update, delete: codes, bodies, names, revisions, preconditions."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

from contract.client import YAML, Client
from contract.suite import T, case, pod

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@case
def create_answers_201_with_the_stored_object(t: T):
    made = t.make_cm("a", {"key": "value"}, labels={"app": "web"})
    t.has({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "value"}, "metadata": {"name": "a", "namespace": t.ns, "labels": {"app": "web"}}}, made)
    t.true(UID.fullmatch(made["metadata"]["uid"]), "uid is a version 4 UUID")
    t.true(TIME.fullmatch(made["metadata"]["creationTimestamp"]), "creationTimestamp is RFC 3339 in whole seconds")
    t.true(int(made["metadata"]["resourceVersion"]) > 0, "resourceVersion is a positive number")
    t.true("generation" not in made["metadata"], "a ConfigMap counts no generation")
    read = t.ok(t.api.get(t.cm("a"))).json
    for document in (made, read):
        document["metadata"].pop("managedFields", None)
    t.equal(made, read, "a read returns the answer of the create")


@case
def server_sets_the_fields_that_it_owns(t: T):
    foreign = {"uid": "11111111-1111-4111-8111-111111111111", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x",
               "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    made = t.make_cm("a", **foreign)["metadata"]
    for key in ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
        t.true(key not in made, f"{key} of a request is not kept")
    t.true(made["uid"] != foreign["uid"] and made["creationTimestamp"] != foreign["creationTimestamp"], "uid and creationTimestamp are the server's")


@case
def create_with_resource_version_is_refused(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "resourceVersion": "1"}})
    t.refused(answer, 500, None, "resourceVersion should not be set on objects to be created")


@case
def create_of_an_existing_name_is_409(t: T):
    t.make_cm("a")
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}})
    t.refused(answer, 409, "AlreadyExists", 'configmaps "a" already exists', {"name": "a", "kind": "configmaps"})


@case
def create_in_a_group_names_the_group_in_its_status(t: T):
    body = {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1}}
    t.made(t.api.post(t.group("policy/v1", "poddisruptionbudgets"), body))
    answer = t.api.post(t.group("policy/v1", "poddisruptionbudgets"), body)
    t.refused(answer, 409, "AlreadyExists", 'poddisruptionbudgets.policy "a" already exists', {"name": "a", "group": "policy", "kind": "poddisruptionbudgets"})


@case
def absent_object_is_404_with_details(t: T):
    details = {"name": "absent", "kind": "configmaps"}
    for answer in (t.api.get(t.cm("absent")), t.api.delete(t.cm("absent")), t.api.merge(t.cm("absent"), {"data": {}}), t.api.put(t.cm("absent"), {"metadata": {"name": "absent"}})):
        t.refused(answer, 404, "NotFound", 'configmaps "absent" not found', details)


@case
def create_without_a_name_is_422(t: T):
    answer = t.api.post(t.cm(), {"data": {}})
    t.invalid(answer, "ConfigMap", "", ("FieldValueRequired", "metadata.name", "Required value: name or generateName is required"))


@case
def create_without_a_body_is_400(t: T):
    t.refused(t.api.request("POST", t.cm(), b""), 400, "BadRequest")


@case
def body_that_is_no_json_is_400(t: T):
    t.refused(t.api.post(t.cm(), b"{not json"), 400, "BadRequest")
    t.refused(t.api.post(t.cm(), b"[]"), 400, "BadRequest")


@case
def body_of_another_kind_is_400(t: T):
    answer = t.api.post(t.cm(), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    t.refused(answer, 400, "BadRequest", "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion")


@case
def body_of_an_unknown_kind_is_400(t: T):
    answer = t.api.post(t.cm(), {"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "a"}})
    message = t.refused(answer, 400, "BadRequest")["message"]  # ends with a line of the server's source, which is not part of the contract
    t.true(message.startswith('Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for version "v1"'), message)


@case
def body_of_another_version_is_400(t: T):
    answer = t.api.post(t.cm(), {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}})
    t.refused(answer, 400, "BadRequest")


@case
def kind_and_api_version_may_be_left_out(t: T):
    made = t.made(t.api.post(t.cm(), {"metadata": {"name": "a"}}))
    t.has({"kind": "ConfigMap", "apiVersion": "v1"}, made)


@case
def value_of_a_wrong_type_is_400_and_names_it(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}, "data": {"a": 5}})
    t.refused(answer, 400, "BadRequest", "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string")
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}, "data": "text"})
    t.refused(answer, 400, "BadRequest", "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string")


@case
def namespace_in_the_body_must_be_that_of_the_path(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "namespace": "other"}})
    t.refused(answer, 400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")


@case
def name_in_the_body_must_be_that_of_the_path(t: T):
    t.make_cm("a")
    answer = t.api.put(t.cm("a"), {"metadata": {"name": "b"}})
    t.refused(answer, 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)")


@case
def generate_name_appends_five_characters(t: T):
    names = {t.made(t.api.post(t.cm(), {"metadata": {"generateName": "web-"}}))["metadata"]["name"] for _ in range(5)}
    t.equal(5, len(names), "names differ")
    for name in names:
        t.true(re.fullmatch(r"web-[bcdfghjklmnpqrstvwxz2456789]{5}", name), f"{name}: prefix and five characters without vowels and look-alikes")


@case
def generate_name_yields_to_a_name(t: T):
    made = t.made(t.api.post(t.cm(), {"metadata": {"generateName": "web-", "name": "own"}}))
    t.has({"name": "own", "generateName": "web-"}, made["metadata"])


@case
def generate_name_cuts_a_long_prefix(t: T):
    made = t.made(t.api.post(t.cm(), {"metadata": {"generateName": "x" * 80}}))
    t.equal(63, len(made["metadata"]["name"]), "length")


@case
def update_replaces_and_raises_the_revision(t: T):
    made = t.make_cm("a", {"x": "1", "y": "2"})
    made["data"] = {"x": "3"}
    answer = t.ok(t.api.put(t.cm("a"), made))
    t.equal({"x": "3"}, answer["data"])
    t.true(int(answer["metadata.resourceVersion"]) > int(made["metadata"]["resourceVersion"]), "the revision grew")
    t.equal(made["metadata"]["uid"], answer["metadata.uid"], "uid")


@case
def update_that_changes_nothing_keeps_the_revision(t: T):
    made = t.make_cm("a", {"x": "1"})
    t.equal(made["metadata"]["resourceVersion"], t.ok(t.api.put(t.cm("a"), made))["metadata.resourceVersion"])
    t.equal(made["metadata"]["resourceVersion"], t.ok(t.api.merge(t.cm("a"), {"data": {"x": "1"}}))["metadata.resourceVersion"])


@case
def update_without_revision_overwrites(t: T):
    t.make_cm("a", {"x": "1"})
    t.equal({"y": "2"}, t.ok(t.api.put(t.cm("a"), {"metadata": {"name": "a"}, "data": {"y": "2"}}))["data"])


@case
def update_with_an_old_revision_is_409(t: T):
    made = t.make_cm("a", {"x": "1"})
    t.ok(t.api.merge(t.cm("a"), {"data": {"x": "2"}}))
    made["data"]["x"] = "3"
    answer = t.api.put(t.cm("a"), made)
    t.refused(answer, 409, "Conflict", 'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
              {"name": "a", "kind": "configmaps"})
    t.equal("2", t.api.get(t.cm("a"))["data.x"], "nothing was written")


@case
def update_with_a_revision_that_is_no_number_is_refused(t: T):
    made = t.make_cm("a")
    made["metadata"]["resourceVersion"] = "abc"
    answer = t.api.put(t.cm("a"), made)
    t.true('"abc"' in t.refused(answer, 500, None)["message"], "the revision is named")


@case
def update_with_another_uid_is_409(t: T):
    made = t.make_cm("a")
    other = "11111111-1111-4111-8111-111111111111"
    uid, made["metadata"]["uid"] = made["metadata"]["uid"], other
    answer = t.api.put(t.cm("a"), made)
    message = t.refused(answer, 409, "Conflict", details={"name": "a", "kind": "configmaps"})["message"]
    t.true(message.startswith('Operation cannot be fulfilled on configmaps "a": '), message)
    t.true(message.endswith(f"Precondition failed: UID in precondition: {other}, UID in object meta: {uid}"), message)


@case
def update_cannot_change_fields_of_the_server(t: T):
    made = t.make_cm("a")
    changed = {**made, "metadata": {**made["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}}
    answer = t.ok(t.api.put(t.cm("a"), changed))
    t.equal(made["metadata"]["creationTimestamp"], answer["metadata.creationTimestamp"])


@case
def put_creates_kinds_that_allow_it(t: T):
    path = t.group("coordination.k8s.io/v1", "leases", "a")
    made = t.ok(t.api.put(path, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}), 201).json
    t.has({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}, made)
    made["spec"]["holderIdentity"] = "you"
    t.equal("you", t.ok(t.api.put(path, made), 200)["spec.holderIdentity"])


@case
def kinds_that_never_overwrite_blindly_want_a_revision(t: T):
    path = t.group("coordination.k8s.io/v1", "leases", "a")
    t.ok(t.api.put(path, {"metadata": {"name": "a"}, "spec": {}}), 201)
    answer = t.api.put(path, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "you"}})
    t.invalid(answer, "leases", "a", ("FieldValueInvalid", "metadata.resourceVersion", "Invalid value: 0: must be specified for an update"), group="coordination.k8s.io")


@case
def put_that_creates_ignores_the_revision(t: T):
    path = t.group("coordination.k8s.io/v1", "leases", "a")
    t.ok(t.api.put(path, {"metadata": {"name": "a", "resourceVersion": "5"}}), 201)


@case
def put_without_a_name_in_the_body_is_400(t: T):
    t.make_cm("a")
    answer = t.api.put(t.cm("a"), {"data": {"x": "1"}})
    t.refused(answer, 400, "BadRequest", "the name of the object (a based on URL) was undeterminable: name must be provided")


@case
def yaml_bodies_are_read(t: T):
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  quoted: \"5\"\n  block: |\n    one\n    two\n"
    made = t.made(t.api.request("POST", t.cm(), text, content=YAML))
    t.equal({"quoted": "5", "block": "one\ntwo\n"}, made["data"])


@case
def yaml_answers_are_given_on_demand(t: T):
    t.make_cm("a", {"x": "1"})
    answer = t.ok(t.api.get(t.cm("a"), accept=YAML))
    t.equal("application/yaml", answer.headers["Content-Type"])
    t.true(b"\ndata:\n  x: \"1\"\nkind: ConfigMap\n" in answer.body, "YAML with sorted keys and quoted numbers")


@case
def unknown_content_type_of_a_body_is_415(t: T):
    answer = t.api.post(t.cm(), b"a=b", content="application/x-www-form-urlencoded")
    t.refused(answer, 415, "UnsupportedMediaType")


@case
def unknown_accept_is_406(t: T):
    message = t.refused(t.api.get(t.cm(), accept="text/csv"), 406, "NotAcceptable")["message"]
    t.true(message.startswith("406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"), message)


@case
def accept_lists_are_honoured(t: T):
    t.make_cm("a")
    for accept in ("*/*", "text/csv, application/json", "application/json;q=0.5", "application/vnd.unknown+x,application/json", ""):
        answer = t.ok(t.api.get(t.cm("a"), accept=accept))
        t.equal("application/json", answer.headers["Content-Type"], accept)


@case
def dry_run_answers_and_keeps_nothing(t: T):
    made = t.ok(t.api.post(t.cm(), {"metadata": {"name": "a"}}, dryRun="All"), 201)
    t.true(made.get("metadata.uid"), "the answer looks like a real one")
    t.refused(t.api.get(t.cm("a")), 404, "NotFound")
    held = t.make_cm("b", {"x": "1"})
    t.equal("2", t.ok(t.api.merge(t.cm("b"), {"data": {"x": "2"}}, dryRun="All"))["data.x"])
    t.ok(t.api.put(t.cm("b"), {"metadata": {"name": "b"}}, dryRun="All"))
    t.ok(t.api.delete(t.cm("b"), dryRun="All"))
    t.equal((held["metadata"]["resourceVersion"], {"x": "1"}), (t.api.get(t.cm("b"))["metadata.resourceVersion"], t.api.get(t.cm("b"))["data"]))


@case
def dry_run_still_refuses(t: T):
    t.make_cm("a")
    t.refused(t.api.post(t.cm(), {"metadata": {"name": "a"}}, dryRun="All"), 409, "AlreadyExists")
    t.refused(t.api.post(t.cm(), {"metadata": {"name": "A"}}, dryRun="All"), 422, "Invalid")


@case
def dry_run_knows_only_all(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}}, dryRun="Some")
    t.refused(answer, 422, "Invalid", None)
    t.has({"causes": [{"reason": "FieldValueNotSupported", "message": 'Unsupported value: ["Some"]: supported values: "All"', "field": "dryRun"}]}, answer["details"])


@case
def unknown_fields_are_dropped_with_a_warning(t: T):
    answer = t.ok(t.api.post(t.cm(), {"metadata": {"name": "a", "nonsense": 1}, "date": {"x": "1"}}), 201)
    t.true("date" not in answer.json and "nonsense" not in answer["metadata"], "unknown fields are gone")
    t.equal(['299 - "unknown field \\"date\\""', '299 - "unknown field \\"metadata.nonsense\\""'], sorted(answer.warnings))


@case
def unknown_fields_are_refused_when_strict(t: T):
    answer = t.api.post(t.pods(), pod("a", container={"imagee": "x"}), fieldValidation="Strict")
    t.refused(answer, 400, "BadRequest", 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].imagee"')


@case
def unknown_fields_are_ignored_without_a_word_when_asked(t: T):
    answer = t.ok(t.api.post(t.cm(), {"metadata": {"name": "a"}, "date": {}}, fieldValidation="Ignore"), 201)
    t.equal([], answer.warnings)


@case
def duplicate_fields_are_refused_when_strict(t: T):
    body = b'{"metadata":{"name":"a"},"data":{"x":"1"},"data":{"x":"2"}}'
    answer = t.api.post(t.cm(), body, fieldValidation="Strict")
    t.refused(answer, 400, "BadRequest", 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data"')


@case
def field_validation_knows_three_words(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}}, fieldValidation="Loose")
    t.refused(answer, 422, "Invalid")


@case
def nulls_and_empty_maps_are_not_kept(t: T):
    made = t.make_cm("a", {}, labels=None, annotations={})
    for key in ("labels", "annotations"):
        t.true(key not in made["metadata"], key)
    t.true("data" not in made, "an empty map is left out")


@case
def text_is_kept_byte_for_byte(t: T):
    data = {"unicode": "søk 日本 \U0001f600", "control": "tab\tquote\"back\\slash", "html": "<a>&</a>", "long": "x" * 10000, "line": " "}
    made = t.make_cm("a", data)
    t.equal(data, made["data"])
    t.equal(data, t.api.get(t.cm("a"))["data"])


@case
def body_over_the_limit_is_413(t: T):
    body = {"metadata": {"name": "a"}, "data": {"x": "y" * (3 * 1024 * 1024 + 1000)}}
    answer = t.api.post(t.cm(), body)
    t.refused(answer, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")


@case
def config_map_over_one_megabyte_is_422(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}, "data": {"x": "y" * (1024 * 1024 + 1)}})
    t.refused(answer, 422, "Invalid", 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes')


@case
def immutable_config_map_stays(t: T):
    t.ok(t.api.post(t.cm(), {"metadata": {"name": "a"}, "data": {"x": "1"}, "immutable": True}), 201)
    t.invalid(t.api.merge(t.cm("a"), {"data": {"x": "2"}}), "ConfigMap", "a", ("FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set"))


@case
def secret_string_data_becomes_data(t: T):
    made = t.made(t.api.post(t.core("secrets"), {"metadata": {"name": "a"}, "stringData": {"x": "secret"}}))
    t.equal({"x": "c2VjcmV0"}, made["data"])
    t.true("stringData" not in made, "stringData is write-only")
    t.equal("Opaque", made["type"])
    answer = t.api.post(t.core("secrets"), {"metadata": {"name": "b"}, "data": {"x": "%%%"}})
    t.refused(answer, 400, "BadRequest")


@case
def managed_fields_can_be_ignored(t: T):
    """Field managers are the real server's own data: nothing else of an object depends on them."""
    made = t.ok(t.api.post(t.cm(), {"metadata": {"name": "a"}, "data": {"x": "1"}}, fieldManager="me"), 201).json
    made["metadata"]["managedFields"] = []
    t.ok(t.api.put(t.cm("a"), made))
    t.equal({"x": "1"}, t.api.get(t.cm("a"))["data"])


@case
def too_long_a_field_manager_is_refused(t: T):
    t.refused(t.api.post(t.cm(), {"metadata": {"name": "a"}}, fieldManager="x" * 129), 422, "Invalid")


@case
def concurrent_writes_with_revision_have_one_winner(t: T):
    made = t.make_cm("a", {"x": "0"})

    def write(number: int) -> int:
        client = Client(t.run.target)
        try:
            return client.put(t.cm("a"), {**made, "data": {"x": str(number)}}).status
        finally:
            client.close()

    with ThreadPoolExecutor(8) as pool:
        codes = sorted(pool.map(write, range(1, 9)))
    t.equal([200] + [409] * 7, codes)


@case
def an_object_may_be_large(t: T):
    data = {f"key-{i}": "v" * 900 for i in range(1000)}
    t.equal(data, t.make_cm("a", data)["data"])
    t.equal(len(json.dumps(data)), len(json.dumps(t.api.get(t.cm("a"))["data"])))


@case
def a_full_config_map_fits_whatever_it_takes_to_write_it_down(t: T):
    """Data of 1 MiB can be 2 MiB of JSON: the stored form is not JSON."""
    t.make_cm("a", {"k": "\n" * 1_040_000})

"""Lists: order, selectors, pages, revisions."""

import base64
import json
import urllib.parse

from contract.suite import T, case

LABELS = {"a": {"app": "web", "tier": "front"}, "b": {"app": "web", "tier": "back"}, "c": {"app": "db"}, "d": {}}


def _fill(t: T) -> None:
    for name, labels in LABELS.items():
        t.make_cm(name, labels=labels)


def _names(answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


def _token(inside: str) -> str:
    return base64.urlsafe_b64encode(inside.encode()).decode().rstrip("=")


def _inside(token: str) -> dict:
    return json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def _ask(t: T, selector: str, **query) -> list[str]:
    return _names(t.ok(t.api.get(t.cm(), labelSelector=selector, **query)))


@case
def list_has_kind_revision_and_items_in_order(t: T):
    _fill(t)
    body = t.ok(t.api.get(t.cm())).json
    t.equal(("ConfigMapList", "v1"), (body["kind"], body["apiVersion"]))
    t.equal(["a", "b", "c", "d"], [item["metadata"]["name"] for item in body["items"]])
    t.true(int(body["metadata"]["resourceVersion"]) >= max(int(item["metadata"]["resourceVersion"]) for item in body["items"]), "the list is not older than its items")
    t.true("kind" not in body["items"][0] and "apiVersion" not in body["items"][0], "items do not repeat the kind")
    t.true("continue" not in body["metadata"] and "remainingItemCount" not in body["metadata"], "a whole list has no continuation")


@case
def empty_list_has_no_items_but_the_member(t: T):
    t.equal([], t.ok(t.api.get(t.cm()))["items"])


@case
def list_of_an_absent_namespace_is_empty(t: T):
    t.equal([], t.ok(t.api.get(f"/api/v1/namespaces/{t.name('absent')}/configmaps"))["items"])


@case
def all_namespaces_are_listed_in_order_of_namespace_and_name(t: T):
    t.make_cm("b", labels={"run": t.ns})
    t.make_cm("a", labels={"run": t.ns})
    t.equal(["a", "b"], _names(t.ok(t.api.get("/api/v1/configmaps", labelSelector=f"run={t.ns}"))))


@case
def create_through_all_namespaces_is_405(t: T):
    t.refused(t.api.post("/api/v1/configmaps", {"metadata": {"name": "a", "namespace": t.ns}}), 405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


@case
def label_selectors(t: T):
    _fill(t)
    for selector, names in {
        "app=web": "ab", "app==web": "ab", "app!=web": "cd", "app": "abc", "!app": "d", "app in (web,db)": "abc", "app in (db)": "c", "app notin (web)": "cd",
        "app notin (web,db)": "d", "app=web,tier=back": "b", "app=web,tier!=back": "a", "app,!tier": "c", "app = web , tier in ( front , back )": "ab", "app=": "", "tier=none": "",
        "app in (web),tier": "ab", "": "abcd", "app in ()": "",
    }.items():
        t.equal(list(names), _ask(t, selector), selector)


@case
def number_operators_of_label_selectors(t: T):
    for name, size in {"a": "1", "b": "5", "c": "x"}.items():
        t.make_cm(name, labels={"size": size})
    t.equal((["b"], ["a"]), (_ask(t, "size>3"), _ask(t, "size<3")))


@case
def bad_label_selectors_are_400(t: T):
    for selector, message in {
        "app in web": "unable to parse requirement: found 'web' expected: '('",
        "a b": "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        "=x": "found '=', expected: !, identifier, or 'end of string'",
        "app in (web": "unable to parse requirement: found '', expected: ',' or ')'",
        "app=web,,": "found ',', expected: identifier after ','",
        "app=a b": "found 'b', expected: ',' or 'end of string'",
        "!": "unable to parse requirement: found '', expected: identifier",
        "app notin": "unable to parse requirement: found '' expected: '('",
        "app>x": "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    }.items():
        t.refused(t.api.get(t.cm(), labelSelector=selector), 400, "BadRequest", message)


@case
def field_selectors_by_name_and_namespace(t: T):
    _fill(t)
    for selector, names in {"metadata.name=b": "b", "metadata.name!=b": "acd", f"metadata.namespace={t.ns}": "abcd", "metadata.name=absent": "", "metadata.name==a": "a", "": "abcd",
                            f"metadata.namespace={t.ns},metadata.name=c": "c"}.items():
        t.equal(list(names), _names(t.ok(t.api.get(t.cm(), fieldSelector=selector))), selector)


@case
def field_selectors_of_pods(t: T):
    for name, node in {"a": "n1", "b": "n2", "c": ""}.items():
        t.make_pod(name, spec={"nodeName": node} if node else {})
    t.ok(t.api.merge(t.pods("a") + "/status", {"status": {"phase": "Running"}}))
    for selector, names in {"spec.nodeName=n1": "a", "spec.nodeName=": "c", "spec.nodeName!=": "ab", "status.phase=Running": "a", "status.phase!=Running": "bc",
                            "spec.nodeName=n1,status.phase=Running": "a", "spec.restartPolicy=Always": "abc", "spec.nodeName=n2,metadata.name=b": "b"}.items():
        t.equal(list(names), _names(t.ok(t.api.get(t.pods(), fieldSelector=selector))), selector)


@case
def field_selectors_of_nodes(t: T):
    name = t.make_node(spec={"unschedulable": True}, metadata={"labels": {"run": t.ns}})["metadata"]["name"]
    t.make_node(metadata={"labels": {"run": t.ns}})
    t.equal([name], _names(t.ok(t.api.get(t.node(), fieldSelector="spec.unschedulable=true", labelSelector=f"run={t.ns}"))))


@case
def unknown_field_selectors_are_400(t: T):
    answer = t.api.get(t.cm(), fieldSelector="data.x=1")
    t.refused(answer, 400, "BadRequest", '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"')
    t.refused(t.api.get(t.pods(), fieldSelector="spec.containers=1"), 400, "BadRequest")


@case
def malformed_field_selectors_are_400(t: T):
    t.refused(t.api.get(t.cm(), fieldSelector="metadata.name"), 400, "BadRequest", "invalid selector: 'metadata.name'; can't understand 'metadata.name'")


@case
def pages_add_up_and_count_the_rest(t: T):
    for number in range(7):
        t.make_cm(f"c{number}")
    first = t.ok(t.api.get(t.cm(), limit=3))
    t.equal((["c0", "c1", "c2"], 4), (_names(first), first["metadata.remainingItemCount"]))
    second = t.ok(t.api.get(t.cm(), limit=3, **{"continue": first["metadata.continue"]}))
    t.equal((["c3", "c4", "c5"], 1), (_names(second), second["metadata.remainingItemCount"]))
    third = t.ok(t.api.get(t.cm(), limit=3, **{"continue": second["metadata.continue"]}))
    t.equal(["c6"], _names(third))
    t.true("continue" not in third["metadata"] and "remainingItemCount" not in third["metadata"], "the last page has neither field")
    t.equal([first["metadata.resourceVersion"]] * 2, [second["metadata.resourceVersion"], third["metadata.resourceVersion"]], "all pages show one revision")


@case
def pages_show_one_moment_across_writes(t: T):
    for name in ("a", "b", "c", "d", "e"):
        t.make_cm(name, {"x": "old"})
    first = t.ok(t.api.get(t.cm(), limit=2))
    t.ok(t.api.merge(t.cm("c"), {"data": {"x": "new"}}))
    t.ok(t.api.delete(t.cm("d")))
    t.make_cm("cc")
    rest = t.ok(t.api.get(t.cm(), limit=10, **{"continue": first["metadata.continue"]}))
    t.equal([("c", "old"), ("d", "old"), ("e", "old")], [(item["metadata"]["name"], item["data"]["x"]) for item in rest["items"]])
    t.equal(first["metadata.resourceVersion"], rest["metadata.resourceVersion"])
    t.equal(["a", "b", "c", "cc", "e"], _names(t.api.get(t.cm())), "a new list shows the current state")


@case
def limit_that_equals_the_size_needs_no_second_page(t: T):
    _fill(t)
    t.true("continue" not in t.ok(t.api.get(t.cm(), limit=4))["metadata"], "no continuation")


@case
def pages_with_selectors_do_not_count_the_rest(t: T):
    for number in range(6):
        t.make_cm(f"c{number}", labels={"even": str(number % 2 == 0)})
    first = t.ok(t.api.get(t.cm(), limit=2, labelSelector="even=True"))
    t.equal(["c0", "c2"], _names(first))
    t.true("remainingItemCount" not in first["metadata"], "with a selector the rest is unknown")
    second = t.ok(t.api.get(t.cm(), limit=2, labelSelector="even=True", **{"continue": first["metadata.continue"]}))
    t.equal(["c4"], _names(second))


@case
def broken_continue_token_is_400(t: T):
    t.refused(t.api.get(t.cm(), limit=1, **{"continue": "nonsense"}), 400, "BadRequest")


@case
def continue_token_errors_name_the_fault(t: T):
    for inside, why in {
        '{"v":"meta.k8s.io/v1","rv":0,"start":"c"}': "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        '{"v":"meta.k8s.io/v1","start":"c"}': "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        '{"v":"meta.k8s.io/v1","rv":5,"start":""}': "encoded start key empty (version meta.k8s.io/v1)",
        '{"v":"meta.k8s.io/v2","rv":5,"start":"c"}': "server does not recognize this encoded version meta.k8s.io/v2",
        '{"v":"meta.k8s.io/v1","rv":-1,"start":"../c"}': "../c",
        '{"v":"meta.k8s.io/v1","rv":-1,"start":"c//d"}': "c//d",
    }.items():
        t.refused(t.api.get(t.cm(), limit=1, **{"continue": _token(inside)}), 400, "BadRequest", f"invalid continue token: continue key is not valid: {why}")


@case
def continue_token_without_a_revision_shows_the_present(t: T):
    _fill(t)
    page = t.ok(t.api.get(t.cm(), limit=2, **{"continue": _token('{"v":"meta.k8s.io/v1","rv":-1,"start":"b"}')}))
    t.equal((["b", "c"], 1), (_names(page), page["metadata.remainingItemCount"]), "the start key is included")
    t.equal(["d"], _names(t.ok(t.api.get(t.cm(), **{"continue": page["metadata.continue"]}))))


@case
def continue_token_of_the_future_is_504(t: T):
    future = int(t.ok(t.api.get(t.cm()))["metadata.resourceVersion"]) + 10_000_000
    answer = t.api.get(t.cm(), limit=1, **{"continue": _token(f'{{"v":"meta.k8s.io/v1","rv":{future},"start":"b"}}')})
    t.refused(answer, 504, "Timeout")
    t.equal("ResourceVersionTooLarge", answer["details.causes.0.reason"])


@case
def continue_token_of_all_namespaces_goes_on_across_them(t: T):
    t.make_cm("a", labels={"run": t.ns})
    t.make_cm("b", labels={"run": t.ns})
    first = t.ok(t.api.get("/api/v1/configmaps", limit=1, labelSelector=f"run={t.ns}"))
    t.equal({"v": "meta.k8s.io/v1", "rv": int(first["metadata.resourceVersion"]), "start": f"{t.ns}/a\0"}, _inside(first["metadata.continue"]))
    second = t.ok(t.api.get("/api/v1/configmaps", limit=1, labelSelector=f"run={t.ns}", **{"continue": first["metadata.continue"]}))
    t.equal((["a"], ["b"]), (_names(first), _names(second)))


@case
def continue_with_a_match_is_refused(t: T):
    _fill(t)
    token = t.ok(t.api.get(t.cm(), limit=1))["metadata.continue"]
    without = ("FieldValueForbidden", "resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided")
    continued = ("FieldValueForbidden", "resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden when continue is provided")
    t.invalid(t.api.get(t.cm(), resourceVersionMatch="Exact", **{"continue": token}), "ListOptions", "", without, continued, group="meta.k8s.io")
    t.invalid(t.api.get(t.cm(), watch="true", **{"continue": token}), "ListOptions", "", continued, group="meta.k8s.io")


@case
def limit_with_a_revision_shows_that_moment(t: T):
    """Semantics of lists without resourceVersionMatch."""
    made = t.make_cm("a", {"x": "1"})
    t.ok(t.api.merge(t.cm("a"), {"data": {"x": "2"}}))
    page = t.ok(t.api.get(t.cm(), limit=5, resourceVersion=made["metadata"]["resourceVersion"]))
    t.equal(("1", made["metadata"]["resourceVersion"]), (page["items.0.data.x"], page["metadata.resourceVersion"]))
    t.equal("2", t.ok(t.api.get(t.cm(), limit=5, resourceVersion=made["metadata"]["resourceVersion"], resourceVersionMatch="NotOlderThan"))["items.0.data.x"])


@case
def deletion_of_a_page_leaves_the_rest(t: T):
    _fill(t)
    first = t.ok(t.api.delete(t.cm(), limit=2))
    t.equal(["a", "b"], _names(first))
    t.equal(["c", "d"], _names(t.ok(t.api.get(t.cm()))))


@case
def continue_with_revision_is_refused(t: T):
    _fill(t)
    token = t.ok(t.api.get(t.cm(), limit=1))["metadata.continue"]
    answer = t.api.get(t.cm(), limit=1, resourceVersion="5", **{"continue": token})
    t.refused(answer, 400, "BadRequest", "specifying resource version is not allowed when using continue")


@case
def list_at_any_revision_and_not_older_than(t: T):
    made = t.make_cm("a")
    for options in ({"resourceVersion": "0"}, {"resourceVersion": made["metadata"]["resourceVersion"]},
                    {"resourceVersion": made["metadata"]["resourceVersion"], "resourceVersionMatch": "NotOlderThan"}):
        body = t.ok(t.api.get(t.cm(), **options)).json
        if options["resourceVersion"] != "0":
            t.equal(["a"], [item["metadata"]["name"] for item in body["items"]])


@case
def list_at_an_exact_revision_shows_that_moment(t: T):
    made = t.make_cm("a", {"x": "1"})
    t.ok(t.api.merge(t.cm("a"), {"data": {"x": "2"}}))
    t.make_cm("b")
    body = t.ok(t.api.get(t.cm(), resourceVersion=made["metadata"]["resourceVersion"], resourceVersionMatch="Exact")).json
    t.equal([("a", "1")], [(item["metadata"]["name"], item["data"]["x"]) for item in body["items"]])
    t.equal(made["metadata"]["resourceVersion"], body["metadata"]["resourceVersion"])


@case
def revision_of_the_future_is_refused_with_504(t: T):
    """The real server first waits three seconds for it."""
    future = str(int(t.ok(t.api.get(t.cm()))["metadata.resourceVersion"]) + 10_000_000)
    answer = t.api.get(t.cm(), resourceVersion=future)
    t.refused(answer, 504, "Timeout")
    t.equal("ResourceVersionTooLarge", answer["details.causes.0.reason"])
    t.true(answer["message"].startswith(f"Timeout: Too large resource version: {future}, current: "), answer["message"])


@case
def revision_match_must_fit_its_revision(t: T):
    for query, reason, message in (
        ({"resourceVersionMatch": "Exact"}, "FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": "NotOlderThan"}, "FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, "FieldValueForbidden", 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
        ({"resourceVersionMatch": "Nonsense", "resourceVersion": "5"}, "FieldValueNotSupported", 'Unsupported value: "Nonsense": supported values: "Exact", "NotOlderThan", ""'),
    ):
        t.invalid(t.api.get(t.cm(), **query), "ListOptions", "", (reason, "resourceVersionMatch", message), group="meta.k8s.io")


@case
def revision_that_is_no_number_is_400(t: T):
    t.refused(t.api.get(t.cm(), resourceVersion="abc"), 400, "BadRequest",
              'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax')


@case
def read_of_one_object_takes_a_revision(t: T):
    made = t.make_cm("a")
    # First "at least as new as", for which the server waits; "0" is answered from its cache, which may be older.
    for revision in (made["metadata"]["resourceVersion"], "0"):
        t.equal("a", t.ok(t.api.get(t.cm("a"), resourceVersion=revision))["metadata.name"])


@case
def encoded_selectors_are_decoded(t: T):
    _fill(t)
    path = t.cm() + "?labelSelector=" + urllib.parse.quote("app in (web,db),tier")
    t.equal(["a", "b"], _names(t.ok(t.api.get(path))))
    path = t.cm() + "?labelSelector=app%3Dweb&fieldSelector=metadata.name%3Db"
    t.equal(["b"], _names(t.ok(t.api.get(path))))


@case
def limit_that_is_no_number_is_400(t: T):
    t.refused(t.api.get(t.cm(), limit="x"), 400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax')

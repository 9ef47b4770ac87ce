"""Watches: their start, their events, their end."""

from contract.client import PARTIAL, TABLE
from contract.suite import T, case


def _now(t: T) -> str:
    return t.ok(t.api.get(t.cm()))["metadata.resourceVersion"]


@case
def watch_shows_every_kind_of_change_in_order(t: T):
    with t.api.watch(t.cm(), resourceVersion=_now(t)) as watch:
        t.ok(watch)
        made = t.make_cm("a", {"x": "1"})
        changed = t.ok(t.api.merge(t.cm("a"), {"data": {"x": "2"}})).json
        t.ok(t.api.delete(t.cm("a")))
        added = watch.next("ADDED")
        t.has({"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "1"}}, added)
        t.equal(made["metadata"]["resourceVersion"], added["metadata"]["resourceVersion"])
        modified = watch.next("MODIFIED")
        t.equal(({"x": "2"}, changed["metadata"]["resourceVersion"]), (modified["data"], modified["metadata"]["resourceVersion"]))
        deleted = watch.next("DELETED")
        t.equal({"x": "2"}, deleted["data"], "the last state")
        t.true(int(deleted["metadata"]["resourceVersion"]) > int(modified["metadata"]["resourceVersion"]), "a deletion has a revision of its own")


@case
def watch_starts_after_the_given_revision(t: T):
    before = _now(t)
    first = t.make_cm("a")
    t.make_cm("b")
    with t.api.watch(t.cm(), resourceVersion=before) as watch:
        t.equal(["a", "b"], [watch.next("ADDED")["metadata"]["name"] for _ in range(2)])
    with t.api.watch(t.cm(), resourceVersion=first["metadata"]["resourceVersion"]) as watch:
        t.equal("b", watch.next("ADDED")["metadata"]["name"])


@case
def watch_without_revision_begins_with_existing_objects(t: T):
    t.make_cm("a")
    t.make_cm("b", labels={"x": "y"})
    for query in ({}, {"resourceVersion": "0"}):
        with t.api.watch(t.cm(), **query) as watch:
            t.equal(["a", "b"], sorted(watch.next("ADDED")["metadata"]["name"] for _ in range(2)))
            t.ok(t.api.merge(t.cm("a"), {"data": {"n": str(query)}}))
            t.equal("a", watch.next("MODIFIED")["metadata"]["name"])


@case
def watch_of_one_object_by_name(t: T):
    t.make_cm("a")
    with t.api.watch(t.cm(), resourceVersion=_now(t), fieldSelector="metadata.name=a") as watch:
        t.make_cm("b")
        t.ok(t.api.merge(t.cm("a"), {"data": {"x": "1"}}))
        t.equal("a", watch.next("MODIFIED")["metadata"]["name"])


@case
def label_selector_turns_entering_and_leaving_into_added_and_deleted(t: T):
    with t.api.watch(t.cm(), resourceVersion=_now(t), labelSelector="app=web") as watch:
        t.make_cm("a")
        t.ok(t.api.merge(t.cm("a"), {"metadata": {"labels": {"app": "web"}}}))
        t.equal("web", watch.next("ADDED")["metadata"]["labels"]["app"])
        t.ok(t.api.merge(t.cm("a"), {"data": {"x": "1"}}))
        watch.next("MODIFIED")
        left = t.ok(t.api.merge(t.cm("a"), {"metadata": {"labels": {"app": "db"}}})).json
        gone = watch.next("DELETED")
        t.equal({"app": "web"}, gone["metadata"]["labels"], "shown as it was when it still matched")
        t.equal(left["metadata"]["resourceVersion"], gone["metadata"]["resourceVersion"], "with the revision of the change")
        t.ok(t.api.delete(t.cm("a")))
        t.make_cm("b", labels={"app": "web"})
        t.equal("b", watch.next("ADDED")["metadata"]["name"])


@case
def field_selector_does_the_same(t: T):
    t.make_pod("p")
    with t.api.watch(t.pods(), resourceVersion=t.api.get(t.pods())["metadata.resourceVersion"], fieldSelector="status.phase=Running") as watch:
        t.ok(t.api.merge(t.pods("p") + "/status", {"status": {"phase": "Running"}}))
        watch.next("ADDED")
        t.ok(t.api.merge(t.pods("p") + "/status", {"status": {"phase": "Succeeded"}}))
        t.equal("Running", watch.next("DELETED")["status"]["phase"])


@case
def watch_of_all_namespaces(t: T):
    with t.api.watch("/api/v1/configmaps", resourceVersion=_now(t), labelSelector=f"run={t.ns}") as watch:
        t.make_cm("a", labels={"run": t.ns})
        t.equal(t.ns, watch.next("ADDED")["metadata"]["namespace"])


@case
def timeout_ends_the_watch_properly(t: T):
    with t.api.watch(t.cm(), resourceVersion=_now(t), timeoutSeconds=6) as watch:
        t.make_cm("a")
        t.equal(["ADDED"], [event["type"] for event in watch.rest() if event["type"] != "BOOKMARK"])


@case
def bookmark_is_sent_before_the_timeout(t: T):
    start = _now(t)
    with t.api.watch(t.cm(), resourceVersion=start, timeoutSeconds=8, allowWatchBookmarks="true", labelSelector="none=none") as watch:
        last = t.make_cm("a")["metadata"]["resourceVersion"]
        events = watch.rest()
        t.true(events and all(event["type"] == "BOOKMARK" for event in events), str(events))
        mark = events[-1]["object"]
        t.equal(("ConfigMap", "v1"), (mark["kind"], mark["apiVersion"]))
        t.true(int(mark["metadata"]["resourceVersion"]) >= int(last), "the bookmark covers changes that the selector hid")
        t.equal({"resourceVersion"}, set(mark["metadata"]) - {"creationTimestamp"}, "no other field of an object")


@case
def no_bookmarks_unless_asked_for(t: T):
    with t.api.watch(t.cm(), resourceVersion=_now(t), timeoutSeconds=2) as watch:
        t.equal([], watch.rest())


@case
def initial_events_end_with_an_annotated_bookmark_or_are_refused(t: T):
    """The real server needs a newer etcd than Debian's for it, and says so in an event. Silence is not allowed."""
    t.make_cm("a")
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with t.api.watch(t.cm(), **query) as watch:
        t.ok(watch)
        first = watch.event()
        if first["type"] == "ERROR":
            t.has({"kind": "Status", "status": "Failure", "code": 500}, first["object"])
            return
        t.equal(("ADDED", "a"), (first["type"], first["object"]["metadata"]["name"]))
        t.equal({"k8s.io/initial-events-end": "true"}, watch.next("BOOKMARK")["metadata"]["annotations"])
        t.make_cm("b")
        t.equal("b", watch.next("ADDED")["metadata"]["name"])


@case
def initial_events_want_a_match(t: T):
    answer = t.api.get(t.cm(), watch="true", sendInitialEvents="true")
    t.refused(answer, 422, "Invalid")
    t.equal("resourceVersionMatch", answer["details.causes.0.field"])
    t.refused(t.api.get(t.cm(), watch="true", resourceVersionMatch="NotOlderThan", resourceVersion="0"), 422, "Invalid")


@case
def revision_that_is_no_number_is_refused(t: T):
    with t.api.watch(t.cm(), resourceVersion="abc") as watch:
        t.equal(500, watch.status)


@case
def revision_too_old_is_410_as_an_event_or_at_once(t: T):
    """Resource version 1 is before the server's whole history."""
    t.make_cm("a")
    with t.api.watch(t.cm(), resourceVersion="1") as watch:
        if watch.status == 410:
            return
        t.ok(watch)
        event = watch.event()
        if event["type"] == "ERROR":
            t.has({"kind": "Status", "code": 410, "reason": "Expired"}, event["object"])
        else:
            t.true(event["type"] in ("ADDED", "MODIFIED", "DELETED"), "history from the beginning, or 410, never silence")


@case
def watch_path_of_old_still_works(t: T):
    with t.api.watch(f"/api/v1/watch/namespaces/{t.ns}/configmaps", resourceVersion=_now(t)) as watch:
        t.ok(watch)
        t.make_cm("a")
        watch.next("ADDED")


@case
def watch_of_one_object_by_path(t: T):
    t.make_cm("a")
    t.equal("ConfigMap", t.ok(t.api.get(t.cm("a"), watch="true"))["kind"], "a read of one object ignores watch=true")
    with t.api.watch(f"/api/v1/watch/namespaces/{t.ns}/configmaps/a") as watch:
        t.ok(watch)
        t.equal("a", watch.next("ADDED")["metadata"]["name"])
        t.make_cm("b")
        t.ok(t.api.delete(t.cm("a")))
        t.equal("a", watch.next("DELETED")["metadata"]["name"])


@case
def deletion_with_finalizer_is_a_modification_first(t: T):
    t.make_cm("a", finalizers=["example.com/hold"])
    with t.api.watch(t.cm(), resourceVersion=_now(t)) as watch:
        t.ok(t.api.delete(t.cm("a")))
        t.true(watch.next("MODIFIED")["metadata"]["deletionTimestamp"], "marked")
        t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))
        t.equal(["example.com/hold"], watch.next("DELETED")["metadata"]["finalizers"], "the last stored state")


@case
def table_watch_has_columns_in_the_first_event_only(t: T):
    t.make_cm("a", {"x": "1"})
    with t.api.watch(t.cm(), accept=TABLE) as watch:
        t.ok(watch)
        first = watch.next("ADDED")
        t.equal(["Name", "Data", "Age"], [column["name"] for column in first["columnDefinitions"]])
        t.equal(["a", 1], first["rows"][0]["cells"][:2])
        t.equal("PartialObjectMetadata", first["rows"][0]["object"]["kind"])
        t.ok(t.api.merge(t.cm("a"), {"data": {"y": "2"}}))
        second = watch.next("MODIFIED")
        t.equal(("Table", []), (second["kind"], second.get("columnDefinitions") or []))
        t.equal(["a", 2], second["rows"][0]["cells"][:2])


@case
def metadata_watch_has_metadata_only(t: T):
    t.make_cm("a", {"x": "1"})
    with t.api.watch(t.cm(), accept=PARTIAL) as watch:
        t.ok(watch)
        found = watch.next("ADDED")
        t.equal(("PartialObjectMetadata", "meta.k8s.io/v1", "a"), (found["kind"], found["apiVersion"], found["metadata"]["name"]))
        t.true("data" not in found, "no data")


@case
def events_are_lines_of_json_in_chunks(t: T):
    t.make_cm("a")
    with t.api.watch(t.cm()) as watch:
        t.equal("chunked", watch.response.headers.get("Transfer-Encoding"))
        t.equal("application/json", watch.response.headers["Content-Type"])
        watch.next("ADDED")


@case
def many_watches_see_the_same(t: T):
    start = _now(t)
    watches = [t.api.watch(t.cm(), resourceVersion=start) for _ in range(20)]
    try:
        for number in range(5):
            t.make_cm(f"c{number}")
        for watch in watches:
            t.equal([f"c{n}" for n in range(5)], [watch.next("ADDED")["metadata"]["name"] for _ in range(5)])
    finally:
        for watch in watches:
            watch.close()


@case
def a_change_that_changes_nothing_is_no_event(t: T):
    t.make_cm("a", {"x": "1"})
    with t.api.watch(t.cm(), resourceVersion=_now(t)) as watch:
        t.ok(t.api.merge(t.cm("a"), {"data": {"x": "1"}}))
        t.ok(t.api.merge(t.cm("a"), {"data": {"x": "2"}}))
        t.equal({"x": "2"}, watch.next("MODIFIED")["data"])


@case
def watch_with_bad_selectors_is_400(t: T):
    for query in ({"labelSelector": "a in b"}, {"fieldSelector": "data.x=1"}):
        with t.api.watch(t.cm(), **query) as watch:
            t.equal(400, watch.status, str(query))


@case
def two_writers_of_one_object_are_seen_in_the_order_of_revisions(t: T):
    with t.api.watch(t.cm(), resourceVersion=_now(t)) as watch:
        t.make_cm("a")
        for number in range(20):
            t.ok(t.api.merge(t.cm("a"), {"data": {"n": str(number)}}))
        watch.next("ADDED")
        seen = [watch.next("MODIFIED") for _ in range(20)]
        t.equal([str(n) for n in range(20)], [event["data"]["n"] for event in seen])
        revisions = [int(event["metadata"]["resourceVersion"]) for event in seen]
        t.equal(sorted(set(revisions)), revisions)


@case
def a_watch_is_asked_for_by_any_word_but_false_and_0(t: T):
    t.make_cm("a")
    is_list = lambda value: t.ok(t.api.get(t.cm(), watch=value, timeoutSeconds="1")).body.startswith(b'{"kind":"ConfigMapList"')
    t.equal({"1": False, "true": False, "yes": False, "": False, "0": True, "false": True, "False": True},
            {value: is_list(value) for value in ("1", "true", "yes", "", "0", "false", "False")})


@case
def initial_events_are_a_matter_of_watches_even_when_they_are_not_wanted(t: T):
    for value in ("", "x", "true", "false"):
        t.equal("sendInitialEvents", t.ok(t.api.get(t.cm(), sendInitialEvents=value), 422)["details.causes.0.field"])
    t.equal("resourceVersionMatch", t.ok(t.api.get(t.cm(), watch="1", sendInitialEvents="false", timeoutSeconds="1"), 422)["details.causes.0.field"])

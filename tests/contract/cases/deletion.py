"""Deletion: preconditions, grace, finalizers, collections, propagation."""

from contract.suite import T, case


@case
def delete_of_a_simple_object_answers_success(t: T):
    made = t.make_cm("a")
    answer = t.ok(t.api.delete(t.cm("a")))
    t.has({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}}, answer.json)
    t.refused(t.api.get(t.cm("a")), 404, "NotFound")


@case
def delete_takes_preconditions(t: T):
    made = t.make_cm("a")["metadata"]
    other = "11111111-1111-4111-8111-111111111111"
    answer = t.api.delete(t.cm("a"), {"preconditions": {"uid": other}})
    t.refused(answer, 409, "Conflict", f'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition ({other}) does not match the UID in record ({made["uid"]}). '
              "The object might have been deleted and then recreated")
    answer = t.api.delete(t.cm("a"), {"preconditions": {"resourceVersion": "1"}})
    t.refused(answer, 409, "Conflict", f'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record '
              f'({made["resourceVersion"]}). The object might have been modified')
    t.ok(t.api.delete(t.cm("a"), {"preconditions": {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}}))


@case
def a_name_can_be_used_again_with_another_uid(t: T):
    first = t.make_cm("a")["metadata"]
    t.ok(t.api.delete(t.cm("a")))
    second = t.make_cm("a")["metadata"]
    t.true(first["uid"] != second["uid"] and int(second["resourceVersion"]) > int(first["resourceVersion"]), "another object")


@case
def finalizer_holds_the_object(t: T):
    t.make_cm("a", finalizers=["example.com/hold"])
    answer = t.ok(t.api.delete(t.cm("a")))
    t.equal("ConfigMap", answer["kind"], "the answer is the object that stays")
    t.true(answer["metadata.deletionTimestamp"], "marked")
    t.equal(0, answer["metadata.deletionGracePeriodSeconds"])
    t.equal(["example.com/hold"], t.api.get(t.cm("a"))["metadata.finalizers"])
    again = t.ok(t.api.delete(t.cm("a")))
    t.equal(answer["metadata.deletionTimestamp"], again["metadata.deletionTimestamp"], "a second delete changes nothing")
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))
    t.refused(t.api.get(t.cm("a")), 404, "NotFound")


@case
def removing_one_of_two_finalizers_keeps_the_object(t: T):
    t.make_cm("a", finalizers=["example.com/a", "example.com/b"])
    t.ok(t.api.delete(t.cm("a")))
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": ["example.com/b"]}}))
    t.ok(t.api.get(t.cm("a")))
    answer = t.ok(t.api.json_patch(t.cm("a"), {"op": "remove", "path": "/metadata/finalizers/0"}))
    t.true("finalizers" not in answer["metadata"], "the answer has the last state")
    t.refused(t.api.get(t.cm("a")), 404, "NotFound")


@case
def new_finalizers_are_refused_on_the_way_out(t: T):
    t.make_cm("a", finalizers=["example.com/a"])
    t.ok(t.api.delete(t.cm("a")))
    answer = t.api.merge(t.cm("a"), {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})
    t.refused(answer, 422, "Invalid", 'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}')
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))


@case
def deletion_mark_cannot_be_set_or_taken_away(t: T):
    t.make_cm("a", finalizers=["example.com/a"])
    t.ok(t.api.delete(t.cm("a")))
    answer = t.api.merge(t.cm("a"), {"metadata": {"deletionTimestamp": None, "labels": {"x": "y"}}})
    t.equal({"x": "y"}, t.ok(answer)["metadata.labels"])
    t.true(answer.get("metadata.deletionTimestamp"), "still being deleted")
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))


@case
def pod_bound_to_a_node_waits_for_its_kubelet(t: T):
    t.make_pod("p", spec={"nodeName": "some-node"})
    t.ok(t.api.merge(t.pods("p") + "/status", {"status": {"phase": "Running"}}))
    answer = t.ok(t.api.delete(t.pods("p")))
    t.equal(("Pod", 30), (answer["kind"], answer["metadata.deletionGracePeriodSeconds"]))
    held = t.ok(t.api.get(t.pods("p")))
    t.true(held["metadata.deletionTimestamp"], "it exists until the kubelet reports its end")
    t.ok(t.api.delete(t.pods("p"), {"gracePeriodSeconds": 0}))
    t.refused(t.api.get(t.pods("p")), 404, "NotFound")


@case
def pod_without_a_node_goes_at_once(t: T):
    t.make_pod("p")
    t.ok(t.api.delete(t.pods("p")))
    t.refused(t.api.get(t.pods("p")), 404, "NotFound")


@case
def finished_pods_go_at_once(t: T):
    t.make_pod("p", spec={"nodeName": "some-node"})
    t.ok(t.api.merge(t.pods("p") + "/status", {"status": {"phase": "Succeeded"}}))
    t.ok(t.api.delete(t.pods("p")))
    t.refused(t.api.get(t.pods("p")), 404, "NotFound")


@case
def grace_can_be_asked_for_and_shortened(t: T):
    t.make_pod("p", spec={"nodeName": "some-node", "terminationGracePeriodSeconds": 60})
    first = t.ok(t.api.delete(t.pods("p"), {"gracePeriodSeconds": 20}))
    t.equal(20, first["metadata.deletionGracePeriodSeconds"])
    longer = t.ok(t.api.delete(t.pods("p"), {"gracePeriodSeconds": 40}))
    t.equal(20, longer["metadata.deletionGracePeriodSeconds"], "never longer")
    shorter = t.ok(t.api.delete(t.pods("p"), gracePeriodSeconds=5))
    t.equal(5, shorter["metadata.deletionGracePeriodSeconds"], "the query can shorten it too")


@case
def grace_of_a_pod_is_its_own_by_default(t: T):
    t.make_pod("p", spec={"nodeName": "some-node", "terminationGracePeriodSeconds": 7})
    t.equal(7, t.ok(t.api.delete(t.pods("p")))["metadata.deletionGracePeriodSeconds"])


@case
def grace_that_is_no_number_is_refused(t: T):
    t.make_cm("a")
    t.refused(t.api.delete(t.cm("a"), {"gracePeriodSeconds": "x"}), 500, None, "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64")
    t.ok(t.api.get(t.cm("a")))


@case
def foreground_deletion_leaves_a_finalizer_for_the_collector(t: T):
    t.make_cm("a")
    answer = t.ok(t.api.delete(t.cm("a"), {"propagationPolicy": "Foreground"}))
    t.equal(["foregroundDeletion"], answer.get("metadata.finalizers"))
    t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}})


@case
def orphan_deletion_leaves_a_finalizer_for_the_collector(t: T):
    t.make_cm("a")
    answer = t.ok(t.api.delete(t.cm("a"), {"propagationPolicy": "Orphan"}))
    t.equal(["orphan"], answer.get("metadata.finalizers"))
    t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}})


@case
def background_deletion_goes_at_once(t: T):
    t.make_cm("a")
    t.equal("Success", t.ok(t.api.delete(t.cm("a"), propagationPolicy="Background"))["status"])


@case
def unknown_propagation_is_refused(t: T):
    t.make_cm("a")
    answer = t.api.delete(t.cm("a"), {"propagationPolicy": "Sideways"})
    t.refused(answer, 422, "Invalid")
    t.equal("propagationPolicy", answer["details.causes.0.field"])
    t.refused(t.api.delete(t.cm("a"), {"propagationPolicy": "Orphan", "orphanDependents": True}), 422, "Invalid")
    t.ok(t.api.get(t.cm("a")))


@case
def collection_is_deleted_whole_or_by_selector(t: T):
    for name in ("a", "b", "c"):
        t.make_cm(name, labels={"odd": str(name != "b")})
    answer = t.ok(t.api.delete(t.cm(), labelSelector="odd=True"))
    t.equal("ConfigMapList", answer["kind"])
    t.equal(["b"], [item["metadata"]["name"] for item in t.api.get(t.cm())["items"]])
    t.ok(t.api.delete(t.cm(), fieldSelector="metadata.name=b"))
    t.equal([], t.api.get(t.cm())["items"])
    t.ok(t.api.delete(t.cm()))


@case
def collection_across_namespaces_cannot_be_deleted(t: T):
    t.refused(t.api.delete("/api/v1/configmaps"), 405, "MethodNotAllowed")


@case
def delete_with_a_body_of_another_kind_is_refused(t: T):
    t.make_cm("a")
    message = t.refused(t.api.delete(t.cm("a"), {"kind": "ConfigMap", "apiVersion": "v1"}), 500, None)["message"]
    t.true(message.startswith('no kind "ConfigMap" is registered for version "v1"'), message)
    t.ok(t.api.delete(t.cm("a"), {"kind": "DeleteOptions", "apiVersion": "v1"}))


@case
def delete_with_dry_run_in_the_body_keeps_the_object(t: T):
    t.make_cm("a")
    t.ok(t.api.delete(t.cm("a"), {"dryRun": ["All"]}))
    t.ok(t.api.get(t.cm("a")))


@case
def delete_with_a_body_reads_no_options_from_the_query(t: T):
    t.make_cm("a")
    t.ok(t.api.delete(t.cm("a"), {"kind": "DeleteOptions", "apiVersion": "v1"}, dryRun="All"))
    t.refused(t.api.get(t.cm("a")), 404, "NotFound")


@case
def update_of_an_object_on_its_way_out_is_allowed(t: T):
    t.make_cm("a", finalizers=["example.com/a"])
    t.ok(t.api.delete(t.cm("a")))
    t.equal({"x": "1"}, t.ok(t.api.merge(t.cm("a"), {"data": {"x": "1"}}))["data"])
    t.refused(t.api.post(t.cm(), {"metadata": {"name": "a"}}), 409, "AlreadyExists", 'object is being deleted: configmaps "a" already exists')
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))


@case
def orphaning_is_asked_for_by_any_word_but_false_and_0(t: T):
    found = {}
    for number, value in enumerate(("true", "no", "", "0", "false")):
        t.make_cm(f"a{number}", finalizers=["example.com/hold"])
        found[value] = "orphan" in t.api.delete(t.cm(f"a{number}"), orphanDependents=value)["metadata.finalizers"]
        t.ok(t.api.merge(t.cm(f"a{number}"), {"metadata": {"finalizers": None}}))
    t.equal({"true": True, "no": True, "": True, "0": False, "false": False}, found)

"""Chapter 14's files for Kubernetes: against what a server takes, and against what JAX asks such a server."""

import itertools
import json
import math
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import yaml
from jax._src import clusters
from jax._src.clusters.k8s_cluster import K8sCluster

from publish.page import ROOT

LESSON = ROOT / "lessons/ch14_launching"
SCHEMA = json.loads((ROOT / "tests/data/kubernetes.schema.json").read_text("utf-8"))


def objects(file: str = "gpu_jobset.yaml") -> dict[str, Any]:
    """By kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((LESSON / file).read_text("utf-8"))}


@pytest.mark.parametrize("file", sorted(path.name for path in LESSON.glob("*.yaml")))
def test_a_server_would_take_each_object(file: str):
    of_group = {"ServiceAccount": "core", "Role": "rbac", "RoleBinding": "rbac"}
    for kind, thing in objects(file).items():
        name = f"io.k8s.api.{of_group[kind]}.v1.{kind}" if kind in of_group else kind
        jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}).validate(thing)


def test_a_jobset_for_tpus_asks_for_the_slice_that_it_names():
    """As many pods as hosts, a host's chips each; their product is the topology's. Source: Google, TPUs in GKE."""
    (slices,) = objects("jobset.yaml")["JobSet"]["spec"]["replicatedJobs"]
    job = slices["template"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    chips = math.prod(map(int, pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"].split("x")))
    assert job["parallelism"] == job["completions"] and pod["restartPolicy"] == "Never"
    assert job["parallelism"] * container["resources"]["limits"]["google.com/tpu"] == chips


def test_its_names_refer_to_each_other_and_the_night_s_statuses_are_what_the_policy_names():
    found = objects()
    account, role, binding = (found[kind] for kind in ("ServiceAccount", "Role", "RoleBinding"))
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    job = found["JobSet"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert job["template"]["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert job["parallelism"] == job["completions"] and job["template"]["spec"]["restartPolicy"] == "Never"
    rules = job["podFailurePolicy"]["rules"]
    statuses = {r["action"]: r["onExitCodes"]["values"] for r in rules if "onExitCodes" in r}
    assert statuses == {"FailJob": [2], "Ignore": [75]}
    night = ROOT / "lessons/ch16_capstone"
    assert "AGAIN = 75" in (night / "night.py").read_text() and "PERSON = 2" in (night / "ending.py").read_text()


def test_no_permission_is_given_that_jax_does_not_use_and_none_is_missing():
    rules = objects()["Role"]["rules"]
    given = {triple for r in rules for triple in itertools.product(r["verbs"], r["apiGroups"], r["resources"])}
    assert given == {("list", "", "pods"), ("get", "batch", "jobs"), ("list", "", "services")}


def test_jax_finds_out_who_it_is_from_what_the_file_gives(monkeypatch: pytest.MonkeyPatch):
    """In pod 1 of the first job of the JobSet."""
    monkeypatch.setattr(clusters.ClusterEnv, "_cluster_types", [*clusters.ClusterEnv._cluster_types])
    monkeypatch.setenv("HOSTNAME", "me")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    monkeypatch.setattr("socket.gethostbyname", lambda name: "10.0.0.2" if name == "me" else None)
    jobset = objects()["JobSet"]
    name, (replicated,) = jobset["metadata"]["name"], jobset["spec"]["replicatedJobs"]
    spec = replicated["template"]["spec"]
    labels = {"jobset.sigs.k8s.io/jobset-name": name}
    own = SimpleNamespace(name=f"{name}-{replicated['name']}-0", labels=labels)
    job = SimpleNamespace(metadata=own, spec=SimpleNamespace(**spec))
    owner = SimpleNamespace(kind="Job", name=own.name, controller=True)
    of_pod = SimpleNamespace(name="me", labels=labels | {"job-name": own.name}, owner_references=[owner])
    pod = SimpleNamespace(metadata=of_pod, spec=SimpleNamespace(**spec["template"]["spec"], subdomain=name))

    def pods(namespace: str, field_selector: str) -> Any:
        return SimpleNamespace(items=[pod] if field_selector == "status.podIP=10.0.0.2" else [])

    def jobs(name: str, namespace: str) -> Any:
        assert name == own.name
        return job

    class Here(K8sCluster):
        _core_api = SimpleNamespace(list_namespaced_pod=pods)
        _batch_api = SimpleNamespace(read_namespaced_job=jobs)

        @classmethod
        def _namespace(cls):
            return "default"

    assert Here.get_coordinator_address(None, None) == "night-hosts-0-0.night:55527"
    assert (Here.get_process_count(), Here.get_process_id()) == (2, 1)

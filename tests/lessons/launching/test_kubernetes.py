"""Chapter 14's files for Kubernetes: against what a server takes, and against what JAX asks such a server."""

import json
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import jsonschema
import pytest
import yaml

from lessons.ch14_launching.launchers import ROOT, environment

LESSON = ROOT / "lessons/ch14_launching"
FILES = sorted(path.name for path in LESSON.glob("*.yaml"))
SCHEMA = json.loads((ROOT / "tests/data/kubernetes.schema.json").read_text("utf-8"))
# JAX's detector with the address of our server in place of what each pod finds in /var/run/secrets, and with a name
# server that knows every pod.
DETECT = """
import json, os, socket, sys
import kubernetes
from jax._src.clusters.k8s_cluster import K8sCluster
def ours():
    configuration = kubernetes.client.Configuration()
    configuration.host = sys.argv[1]
    kubernetes.client.Configuration.set_default(configuration)
kubernetes.config.load_incluster_config = ours
K8sCluster._namespace = classmethod(lambda cls: "default")
asked = []
socket.gethostbyname = lambda name: asked.append(name) or "10.0.0.2"
assert K8sCluster.is_env_present()
address = K8sCluster.get_coordinator_address(10, None)
print(json.dumps([address, K8sCluster.get_process_count(), K8sCluster.get_process_id(), asked]))
"""


def objects(file: str = "gpu_jobset.yaml") -> dict[str, Any]:
    """By kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((LESSON / file).read_text("utf-8"))}


def validate(thing: Any) -> None:
    kind = {"Job": "io.k8s.api.batch.v1.Job", "ServiceAccount": "io.k8s.api.core.v1.ServiceAccount"}
    kind |= {name: f"io.k8s.api.rbac.v1.{name}" for name in ("Role", "RoleBinding")}
    name = kind.get(thing["kind"], thing["kind"])
    jsonschema.validate(thing, {"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


@pytest.mark.parametrize("file", FILES)
def test_a_server_would_take_each_object(file: str):
    for thing in objects(file).values():
        validate(thing)


def test_a_jobset_for_tpus_asks_for_the_slice_that_it_names():
    """As many pods as hosts, a host's chips each; their product is the topology's. Source: Google, TPUs in GKE."""
    (slices,) = objects("jobset.yaml")["JobSet"]["spec"]["replicatedJobs"]
    job = slices["template"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    chips = math.prod(map(int, pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"].split("x")))
    assert job["parallelism"] == job["completions"] and pod["restartPolicy"] == "Never"
    assert job["parallelism"] * container["resources"]["limits"]["google.com/tpu"] == chips


JOB = ("spec", "replicatedJobs", 0, "template", "spec")


@pytest.mark.parametrize(
    ("kind", "path", "to"),
    [
        ("Role", ("rules", 0, "verb"), ["list"]),
        ("RoleBinding", ("roleRef", "name"), ...),
        ("JobSet", ("apiVersion",), "jobset.x-k8s.io/v1"),
        ("JobSet", ("spec", "failurePolicy", "rules", 0, "action"), "Fail"),
        ("JobSet", (*JOB, "podFailurePolicy", "rules", 0, "onExitCodes", "values"), ["2"]),
        ("JobSet", (*JOB, "template", "spec", "containers", 0, "name"), ...),
        ("JobSet", (*JOB, "template", "spec", "serviceAccount_name"), "jax"),
    ],
)
def test_the_schema_refuses_what_a_server_would(kind: str, path: tuple[str | int, ...], to: Any):
    changed = inner = objects()[kind]
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    if to is ...:
        del inner[path[-1]]
    with pytest.raises(jsonschema.ValidationError):
        validate(changed)


def test_its_names_refer_to_each_other():
    found = objects()
    account, role, binding = (found[kind] for kind in ("ServiceAccount", "Role", "RoleBinding"))
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    job = found["JobSet"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert job["template"]["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert job["parallelism"] == job["completions"] and job["template"]["spec"]["restartPolicy"] == "Never"


def test_the_night_s_statuses_are_what_the_policy_names():
    (job,) = objects()["JobSet"]["spec"]["replicatedJobs"]
    rules = job["template"]["spec"]["podFailurePolicy"]["rules"]
    assert {r["action"]: r["onExitCodes"]["values"] for r in rules} == {"FailJob": [2], "Ignore": [75]}
    night = ROOT / "lessons/ch16_capstone"
    assert "AGAIN = 75" in (night / "night.py").read_text() and "PERSON = 2" in (night / "ending.py").read_text()


def allows(role: dict[str, Any], verb: str, group: str, resource: str) -> bool:
    rules = role["rules"]
    return any(verb in r["verbs"] and group in r["apiGroups"] and resource in r["resources"] for r in rules)


def test_no_permission_is_given_that_jax_does_not_use_and_none_is_missing():
    role = objects()["Role"]
    for verb, group, resource in (("list", "", "pods"), ("get", "batch", "jobs"), ("list", "", "services")):
        assert allows(role, verb, group, resource)
    assert not allows(role, "get", "", "secrets") and not allows(role, "delete", "", "pods")


class Server(ThreadingHTTPServer):
    """Answers as Kubernetes would for the first job of a JobSet, pod 1 of it, and lets ask what `role` allows."""

    role: dict[str, Any]


class Answers(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        url = urlparse(self.path)
        of, _, name = url.path.partition("/namespaces/default/")[2].partition("/")
        group = "batch" if url.path.startswith("/apis/batch/v1/") else ""
        if not allows(self.server.role, "get" if name else "list", group, of):
            return self._send(403, {"kind": "Status", "reason": "Forbidden", "code": 403})
        jobset = objects()["JobSet"]
        labels = {"jobset.sigs.k8s.io/jobset-name": jobset["metadata"]["name"]}
        (replicated,) = jobset["spec"]["replicatedJobs"]
        job = f"{jobset['metadata']['name']}-{replicated['name']}-0"
        spec = replicated["template"]["spec"]
        limits = spec["template"]["spec"]["containers"][0]["resources"]["limits"]
        limits |= {name: str(count) for name, count in limits.items()}  # as a server keeps quantities
        if of == "jobs" and name == job:
            return self._send(200, {"metadata": {"name": job, "labels": labels}, "spec": spec})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "1", "controller": True}
        meta = {"name": f"{job}-1-x", "labels": labels | {"job-name": job}, "ownerReferences": [owner]}
        pod = {"metadata": meta, "spec": spec["template"]["spec"] | {"subdomain": jobset["metadata"]["name"]}}
        mine = parse_qs(url.query).get("fieldSelector") == ["status.podIP=10.0.0.2"]
        self._send(200, {"metadata": {}, "items": [pod] if of == "pods" and mine else []})

    def _send(self, status: int, what: dict[str, Any]) -> None:
        said = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Answers) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that jax[k8s] brings, in a folder of its own."""
    folder = tmp_path_factory.mktemp("kubernetes")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "kubernetes"]
    subprocess.run(pip, check=True, capture_output=True)
    return folder


def detected(client: Path, server: Server) -> subprocess.CompletedProcess[str]:
    env = environment() | {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "1", "HOSTNAME": "me"}
    env["PYTHONPATH"] += f":{client}"
    command = [sys.executable, "-c", DETECT, f"http://127.0.0.1:{server.server_port}"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.long
@pytest.mark.parametrize("missing", [None, "pods", "jobs"])
def test_jax_finds_out_who_it_is_from_what_the_file_gives_and_says_what_is_missing(client, server, missing):
    server.role = objects()["Role"]
    for rule in server.role["rules"]:
        rule["resources"] = [r for r in rule["resources"] if r != missing]
    done = detected(client, server)
    if missing:
        assert done.returncode == 1 and "does not have the permission" in done.stderr.replace("\n", " ")
        return
    assert done.returncode == 0, done.stderr
    address, count, process, asked = json.loads(done.stdout)
    assert (address, count, process) == ("night-hosts-0-0.night:55527", 2, 1)
    assert asked == ["me", "night-hosts-0-0.night"]

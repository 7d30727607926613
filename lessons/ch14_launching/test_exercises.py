"""The checks of ch14_launching: no cluster, only what a launcher would say."""

import os
from unittest import mock

from lessons.ch14_launching.read_sbatch import read_sbatch

OPEN_MPI_4 = "OMPI_MCA_orte_hnp_uri"  # the sign that it leaves


def test_sbatch_file(check):
    def cases(rng):
        long = int(rng.integers(25, 40)) * 60 + 7
        wanted = [
            ("train.py", 2, 1, 30),
            ("all_sum.py", 4, 8, int(rng.integers(61, 99))),
            ("hello.py", 1, int(rng.integers(2, 5)), 5),
            ("train.py", int(rng.integers(3, 9)), 2, long),
        ]
        return [(*each, read_sbatch) for each in wanted]

    def oracle(program, nodes, a_node, minutes, submit):
        return {
            "nodes": nodes,
            "processes": nodes * a_node,
            "seconds": 60 * minutes,
            "when_one_fails": "all end",
            "printed_lines": "at once",
            "runs": program,
            "job_ends": "with the program",
            "not_read": "",
        }

    check(
        cases,
        oracle=oracle,
        values={"nodes": "count", "processes": "count", "seconds": "seconds"},
    )


def test_arguments_by_hand(check):
    def cases(rng):
        port = int(rng.integers(2000, 9000))
        wanted = [(2, 4, True), (2, 4, False), (3, 2, True), (1, 8, True)]
        wanted += [(int(rng.integers(4, 7)), 8, False)]
        return [
            ([f"gpu{i:02}" for i in range(n, 0, -1)], gpus, each, port + k)
            for k, (n, gpus, each) in enumerate(wanted)
        ]

    def oracle(hosts, gpus, a_gpu_each, port):
        rows = []
        for host in hosts:
            for first in range(0, gpus, 1 if a_gpu_each else gpus):
                ids = [first] if a_gpu_each else [*range(gpus)]
                rows.append((host, ids))
        return [
            {
                "host": host,
                "coordinator_address": ":".join([hosts[0], str(port)]),
                "num_processes": len(rows),
                "process_id": i,
                "local_device_ids": ids,
            }
            for i, (host, ids) in enumerate(rows)
        ]

    check(
        cases,
        oracle=oracle,
        values={
            "num_processes": "count",
            "process_id": "id",
            "local_device_ids": "id",
        },
    )


def slurm(rank, size, local, nodes, step=True):
    said = {
        "SLURM_JOB_ID": "4711",
        "SLURM_NNODES": str(nodes),
        "SLURM_NTASKS": str(size),
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": str(local),
    }
    if step:
        said["SLURM_STEP_NODELIST"] = f"node[01-{nodes:02}]"
    return said


def mpi(rank, size, local, version=4):
    said = {
        "OMPI_COMM_WORLD_SIZE": str(size),
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(local),
    }
    if version == 4:
        uri = "1531576320.0;tcp://10.96.0.1:34911"
        said["OMPI_MCA_orte_hnp_uri"] = uri
    return said


def tpu(rank, size, addresses=False):
    hosts = ",".join(f"host-{i}" for i in range(size))
    name = "TPU_PROCESS_ADDRESSES" if addresses else "TPU_WORKER_HOSTNAMES"
    one = {"MEGASCALE_NUM_SLICES": "1", "MEGASCALE_SLICE_ID": "0"}
    return one | {"TPU_WORKER_ID": str(rank), name: hosts}


def test_which_launcher(check):
    def cases(rng):
        def r(n):
            return int(rng.integers(1, n))

        home = {"HOME": "/home/me", "USER": "me"}
        batch = slurm(0, 8, 0, 2, step=False)
        login = {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": "8"}
        drawn = [
            home,
            slurm(r(3) + 4, 8, r(3), 2),
            mpi(r(3) + 4, 8, r(3)),
            tpu(r(4), 5),
            tpu(r(3), 4, addresses=True),
            tpu(r(3), 6) | tpu(r(3), 4, addresses=True),
            # mpirun inside of a job: mpirun started its helpers with srun
            slurm(1, 2, 0, 2) | mpi(r(3) + 4, 8, r(3)),
            # the batch script itself is no step of the job
            batch,
            login,
            # Open MPI 5 no longer says where its mpirun is
            mpi(r(7), 8, 1, version=5),
            slurm(r(3) + 4, 8, r(3), 2) | mpi(0, 1, 0, version=5),
            tpu(r(4), 5) | login,
            slurm(r(3) + 4, 8, r(3), 2) | tpu(0, 2),
        ]
        return [(home | each,) for each in drawn]

    def oracle(environ):
        from jax._src import clusters
        from jax._src.clusters import cloud_tpu_cluster as cloud

        on_tpu = any(name.startswith("TPU_") for name in environ)
        with (
            mock.patch.dict(os.environ, environ, clear=True),
            mock.patch.object(cloud, "running_in_cloud_tpu_vm", on_tpu),
            mock.patch.dict(os.environ, {"TPU_SKIP_MDS_QUERY": "1"}),
        ):
            for kind in clusters.ClusterEnv._cluster_types:
                if kind.name == "ompi" and OPEN_MPI_4 not in environ:
                    continue  # JAX 0.12 asks mpi4py about Open MPI 5
                if not kind.opt_in_only_method and kind.is_env_present():
                    ids = kind.get_process_id(), kind.get_process_count()
                    return kind.name, *ids
        return None

    check(cases, oracle=oracle, values=("label", "id", "count"))


def reports(rng, n, **changes):
    """What n processes know, shuffled; changes: one in each entry of `at`."""
    at = changes.pop("at", ())
    told = [
        {
            "process_id": i,
            "num_processes": n,
            "coordinator_address": "node01:6543",
            "devices": 4,
        }
        for i in range(n)
    ]
    for i in at:
        told[i] |= changes
    return [told[i] for i in rng.permutation(n)]


def test_what_is_wrong(check):
    def cases(rng):
        n = int(rng.integers(6, 9))
        a, b = sorted(int(i) for i in rng.permutation(range(2, n - 1))[:2])
        elsewhere = {"coordinator_address": "node02:6543"}
        other_port = {"coordinator_address": "node01:6544"}
        from_one = [
            r | {"process_id": r["process_id"] + 1} for r in reports(rng, n)
        ]
        alone = reports(rng, n, process_id=0, num_processes=1, at=range(n))
        odd = reports(rng, n, num_processes=n + 1, at=[b])
        (one_more,) = (r for r in odd if r["process_id"] == b)
        lost = [r for r in reports(rng, n) if r["process_id"] not in (a, b)]
        last = [r for r in reports(rng, n) if r["process_id"] != n - 1]
        first = [r for r in reports(rng, n) if r["process_id"] != 0]
        drawn = [
            (reports(rng, n), n),
            (alone, n),
            (lost, n),
            (last, n),
            (first, n),
            (reports(rng, n, process_id=1, at=[a, b]), n),
            (from_one, n),
            (reports(rng, n, at=[b, a], **elsewhere), n),
            (reports(rng, n, at=[b], **other_port), n),
            # most have another address than process 0
            (reports(rng, n, at=range(1, n), **elsewhere), n),
            (reports(rng, n, at=[a, b], devices=3), n),
            (reports(rng, n, at=range(1, n), devices=3), n),
            (reports(rng, n, at=[a], devices=3, **elsewhere), n),
            (reports(rng, n, at=[b], num_processes=n + 1), n),
            (reports(rng, n, at=[b, a], num_processes=n + 1), n),
            # one of two with the same number counts wrongly
            (reports(rng, n) + [one_more], n),
            # started twice: everybody agrees, and there are twice as many
            (reports(rng, 3) + reports(rng, 3), 3),
            ([], 2),
        ]
        for told, _ in drawn:  # process 0 is not the first; one apart may be
            told.sort(key=lambda r: r["process_id"] in (0, 1, n - 1))
            told.sort(key=lambda r: r["devices"] == 4)
        return drawn

    def oracle(told, expected):
        ids = [r["process_id"] for r in told]
        zero = [r for r in told if r["process_id"] == 0]

        def those(test):
            return sorted({r["process_id"] for r in told if test(r)})

        rules = [
            ("count", those(lambda r: r["num_processes"] != expected)),
            ("twice", those(lambda r: ids.count(r["process_id"]) > 1)),
            ("missing", [i for i in range(expected) if i not in ids]),
        ]
        if zero:
            for word, key in (
                ("coordinator", "coordinator_address"),
                ("devices", "devices"),
            ):
                rules.append((word, those(lambda r, k=key: r[k] != zero[0][k])))
        for word, found in rules:
            if found:
                return word, found
        return "fine", []

    check(cases, oracle=oracle, values=("label", "id"))

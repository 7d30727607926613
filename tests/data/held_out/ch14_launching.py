# what: Believes that a process with one GPU sees only that one, so that its local id is always 0.
def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    a_host = gpus if a_gpu_each else 1
    arguments = []
    for host in hosts:
        for _ in range(a_host):
            arguments.append(
                {
                    "host": host,
                    "coordinator_address": f"{hosts[0]}:{port}",
                    "num_processes": len(hosts) * a_host,
                    "process_id": len(arguments),
                    "local_device_ids": [0] if a_gpu_each else list(range(gpus)),
                }
            )
    return arguments

"""A picture of a launch, from what JAX's detectors answered in each process."""

from minipod.drawing import Picture, graph, text_width


def launch(launcher: str, program: str, processes: list[dict]) -> Picture:
    """The launcher, and the processes that it starts, in a box per host.

    processes: by number, what `detect.asked` gave each, and "host". Dashed
    lines lead to the coordinator's address, which all were given.
    """
    g = graph.graph(rankdir="LR", nodesep="0.16", ranksep="0.9")
    width = text_width(launcher, 12, True) + 28
    graph.node(g, "launcher", launcher, "function code", width, 40)
    hosts = list(dict.fromkeys(p["host"] for p in processes))
    for host in hosts:
        with g.subgraph(name=f"cluster_{host}") as box:
            box.attr(label=host, margin="10")
            here = [p["process_id"] for p in processes if p["host"] == host]
            for i in here:
                label = f"process {i}"
                graph.node(box, f"process_{i}", label, "device", 92)
            with box.subgraph(graph_attr={"rank": "same"}) as same:
                for i, above in zip(here[1:], here, strict=False):
                    # dot lays a rank out from the bottom up
                    same.edge(f"process_{i}", f"process_{above}", style="invis")
    address = processes[0]["coordinator_address"]
    wide = text_width(address, 12, True) + 40
    graph.node(g, "coordinator", address, "collective code", wide, 40)
    for p in processes:
        name = f"process_{p['process_id']}"
        g.edge("launcher", name)
        g.edge(name, "coordinator", **{"class": "dash"})
    each = ", ".join(
        f"process {p['process_id']} on {p['host']}" for p in processes
    )
    words = f"{launcher} starts {program} as {each}; all report to {address}."
    return graph.render(g, words)

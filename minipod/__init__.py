"""minipod: a pod on a laptop — eight simulated devices, two processes, and a look at what they send."""

# The public modules; of each, what its `__all__` names. `distribution`, `drawing`, `forked`, `hlo` and `ranges` are for
# minipod and the book's own checks, and change without notice.
PUBLIC = (
    "chips", "choose", "cluster", "devices", "doctor", "expect", "guard", "hosts", "pictures", "pods", "processes",
    "profiles", "replicas", "roofline", "tables", "testing", "torus", "traffic", "watch",
)  # fmt: skip

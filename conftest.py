"""Which modules have no doctests to collect here, because what they import is not installed."""

from importlib.util import find_spec

NEEDED = {"torch": ("tensors", "tensor_trees", "on_torch", "fused"), "triton": ("fused",)}

collect_ignore = [
    f"src/hidegl/rows/{module}.py"
    for package, modules in NEEDED.items()
    if find_spec(package) is None
    for module in modules
]

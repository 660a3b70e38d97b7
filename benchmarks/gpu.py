"""Times on one GPU, with the roofline beside each: bytes and operations counted, over ceilings of the same machine.

    HIDEGL_DATA=folder python benchmarks/gpu.py                all parts
    HIDEGL_DATA=folder python benchmarks/gpu.py a b            some; the others keep their stored results

Parts: ceilings, a (280,000 × 784, k = 500), b (8,000,000 × 784 in half precision, k = 1,000), c (50,000,000 × 64,
k = 2,000), growth, host, ensemble (AutoHiDeGL). Results go to results/gpu.json. Each time is the median of 5 after a
warm-up; of 3 for AutoHiDeGL.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch

from harness import store, stored_parts
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.datasets import draw_labels, hide_labels, load_data_set, load_shifted_digits
from hidegl.ensemble.members import EFFORTS
from hidegl.rows.tensors import TensorRows
from hidegl.structure import preparation
from hidegl.structure.automatic import automatic_sigma
from hidegl.structure.points import expectation_sums, learn_points, maximisation, start_kmeans
from hidegl.structure.preparation import learn_preparation, prepare
from hidegl.structure.tree import tree_edges

DEVICE = "cuda"
REPEATS = 5
NEAREST = 3
"""How many points a row is assigned to while they are learned."""


def main() -> None:
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        begun = time.perf_counter()
        result = PARTS[part]()
        print(part, f"{time.perf_counter() - begun:.0f} s", json.dumps(result, indent=1), flush=True)
        store("gpu", {**measured(), "device": device(), part: result})
        torch.cuda.empty_cache()


def measured() -> dict[str, Any]:
    return stored_parts("gpu", PARTS)


def device() -> dict[str, Any]:
    import triton

    name, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
    versions = {"torch": torch.__version__, "triton": triton.__version__, "cuda": torch.version.cuda}
    return {"name": name, "capability": list(capability), "versions": versions}


def seconds(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The median of some runs after a warm-up, the device's work included."""
    function()
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        function()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - begun)
    return median(taken)


# The parts


def ceilings() -> dict[str, float]:
    """Bytes a second of a large copy, read and written; operations a second of a large product, in each precision."""
    x, y = (torch.randn(2**29, device=DEVICE) for _ in range(2))
    out = {"copy_terabytes": 2 * x.nbytes / seconds(partial(y.copy_, x)) / 1e12}
    del x, y
    for name in ("float16", "bfloat16", "float32"):
        A, B = (torch.randn(8192, 8192, device=DEVICE).to(getattr(torch, name)) for _ in range(2))
        torch.backends.cuda.matmul.allow_tf32 = name == "float32"
        out[f"{'tf32' if name == 'float32' else name}_teraflops"] = (
            2 * 8192**3 / seconds(partial(torch.mm, A, B)) / 1e12
        )
        torch.backends.cuda.matmul.allow_tf32 = False
    return {name: round(value, 2) for name, value in out.items()}


def roofline(n: int, d: int, k: int, itemsize: int) -> dict[str, float]:
    """The least milliseconds of an E-step: X read once, and X Cᵀ by the unit for these numbers.

    We make three passes: the products, the distances (X read once more), and the sums (each row read for each of its
    points). Their floors add up to the second number.
    """
    limits = measured().get("ceilings") or ceilings()
    rate = limits["float16_teraflops"] if itemsize == 2 else limits["tf32_teraflops"]
    operations, read = 2 * n * d * k, n * d * itemsize
    by_unit, by_memory = operations / rate / 1e9, read / limits["copy_terabytes"] / 1e9
    return {
        "teraflop": round(operations / 1e12, 3),
        "gigabytes": round(read / 1e9, 3),
        "floor_ms": round(max(by_unit, by_memory), 3),
        "floor_of_three_passes_ms": round(max(by_unit, by_memory) + (1 + NEAREST) * by_memory, 3),
    }


def iteration(rows: TensorRows, k: int, n_columns: int) -> dict[str, Any]:
    """One EM iteration: the E-step and its sums; and all of it, with the tree and the solve."""
    rng = np.random.default_rng(0)
    C = start_kmeans(rows.select(np.sort(rng.choice(rows.n_rows, min(rows.n_rows, 32 * k), replace=False))), k, rng)
    sigma = automatic_sigma(rows, C, rng)

    def e_step() -> None:
        rows.sum(expectation_sums, C, sigma, NEAREST)

    def whole() -> None:
        mass, ZtX, log_likelihood = rows.sum(expectation_sums, C, sigma, NEAREST)
        maximisation(mass, ZtX, C, 1.0, tree_edges(C))
        float(log_likelihood)

    itemsize = rows.sample(1, rng).element_size()
    bound = roofline(rows.n_rows, n_columns, k, itemsize)
    sums_ms, whole_ms = 1e3 * seconds(e_step), 1e3 * seconds(whole)
    return {
        "rows": rows.n_rows,
        "columns": n_columns,
        "points": k,
        "bytes_a_number": itemsize,
        **bound,
        "e_step_and_sums_ms": round(sums_ms, 3),
        "with_tree_and_solve_ms": round(whole_ms, 3),
        "share_of_roofline": round(bound["floor_ms"] / sums_ms, 3),
        "share_of_three_passes": round(bound["floor_of_three_passes_ms"] / sums_ms, 3),
        "share_of_roofline_with_tree_and_solve": round(bound["floor_ms"] / whole_ms, 3),
    }


def prepared(X: torch.Tensor, n_components: int | str | None) -> TensorRows:
    rows = TensorRows(X, DEVICE)
    learned = learn_preparation(rows, preprocess="auto", n_components=n_components, rng=np.random.default_rng(0))
    return rows.map(prepare, learned).persist()


def fit(X: Any, y: Any, k: int, **options: Any) -> HiDeGL:
    return HiDeGL(k, random_state=0, device=DEVICE, **options).fit(X, y)


def timed_fit(X: Any, y: Any, k: int, truth: Any = None, repeats: int = REPEATS, **options: Any) -> dict[str, Any]:
    """From the rows to a label for each, on the host: the start and everything else counted in."""
    models = []

    def run() -> None:
        models[:] = [fit(X, y, k, **options)]
        models[0].transduction_  # noqa: B018

    torch.cuda.reset_peak_memory_stats()
    taken = seconds(run, repeats)
    model = models[0]
    out = {"seconds": round(taken, 4), "iterations_of_the_last_stage": model.n_iter_, **model.settings_}
    out["peak_gigabytes_on_the_device"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    if truth is not None:
        unlabelled = y == -1
        out["percent_right"] = round(100 * float(np.mean(model.transduction_[unlabelled] == truth[unlabelled])), 2)
    return out


def part_a() -> dict[str, Any]:
    X, truth = load_shifted_digits()
    y = hide_labels(truth, draw_labels(truth, 100, seed=100))
    X_there = torch.from_numpy(X).to(DEVICE)
    return {
        "iteration": iteration(prepared(X_there, None), 500, 784),
        "fit_from_a_tensor": timed_fit(X_there, y, 500, truth),
        "fit_from_an_array": timed_fit(X, y, 500, truth),
        "fit_in_784_columns": timed_fit(X_there, y, 500, truth, n_components=None),
        "fit_in_784_columns_on_all_rows": timed_fit(X_there, y, 500, truth, n_components=None, learning_rows=None),
        "kmeans_in_plain_torch": kmeans(prepared(X_there, None), 500),
        "same_labels_as_float64": agreement(X_there, y, 500),
    }


def kmeans(rows: TensorRows, k: int, steps: int = 15) -> dict[str, Any]:
    """Lloyd's steps as one would write them in torch, TF32 allowed: the time beside as many of our iterations."""
    X = rows.sample(rows.n_rows, np.random.default_rng(0)).float()
    start = X[torch.randperm(len(X), device=DEVICE)[:k]]

    def run() -> None:
        C = start
        for _ in range(steps):
            half_norms = (C * C).sum(dim=1) / 2
            nearest = torch.cat(
                [torch.addmm(half_norms, part, C.T, alpha=-1).argmin(dim=1) for part in X.split(65_536)]
            )
            counts = torch.bincount(nearest, minlength=k).clamp(min=1)
            C = torch.zeros_like(C).index_add_(0, nearest, X) / counts[:, None]

    C = start.double()

    def ours() -> None:
        learn_points(rows, C, sigma=0.05, lambda1=1.0, n_nearest=NEAREST, max_iter=steps, tol=0.0)

    torch.backends.cuda.matmul.allow_tf32 = True
    plain = seconds(run)
    torch.backends.cuda.matmul.allow_tf32 = False
    own = seconds(ours)
    return {
        "steps": steps,
        "kmeans_seconds": round(plain, 4),
        "hidegl_seconds": round(own, 4),
        "times_kmeans": round(own / plain, 2),
    }


def agreement(X: torch.Tensor, y: Any, k: int) -> dict[str, Any]:
    """Percent of rows with the same label as when all of it runs in float64, from the same start."""
    start = X[:: len(X) // k][:k].double().cpu().numpy()
    out: dict[str, Any] = {}
    for name, options in (("default", {}), ("784 columns", {"n_components": None})):
        half = fit(X, y, k, start=start, **options)
        many = preparation.FLOAT64_NUMBERS
        preparation.FLOAT64_NUMBERS = X.numel()
        try:
            exact = fit(X.double(), y, k, start=start, **options)
        finally:
            preparation.FLOAT64_NUMBERS = many
        same = float(np.mean(half.transduction_ == exact.transduction_))
        kinds = {"dtype": half.settings_["dtype"], "against": exact.settings_["dtype"]}
        out[name] = {"percent": round(100 * same, 3), **kinds, "iterations": [half.n_iter_, exact.n_iter_]}
    return out


def many_digits(n: int, seed: int = 0) -> tuple[torch.Tensor, np.ndarray]:
    """Real digits shifted by up to two pixels and blended with another of their class, in half precision."""
    X, y = load_data_set("emnist_digits")
    order = np.argsort(y, kind="stable")
    images = torch.from_numpy(X[order]).to(DEVICE).reshape(-1, 28, 28)
    y = y[order]
    classes = torch.from_numpy(y.astype(np.int64)).to(DEVICE)
    starts = torch.searchsorted(classes, torch.arange(11, device=DEVICE))
    g = torch.Generator(device=DEVICE).manual_seed(seed)
    out = torch.empty((n, 784), dtype=torch.float16, device=DEVICE)
    truth = torch.empty(n, dtype=torch.int64, device=DEVICE)
    for start in range(0, n, 100_000):
        b = min(100_000, n - start)
        one = torch.randint(len(images), (b,), generator=g, device=DEVICE)
        label = classes[one]
        width = starts[label + 1] - starts[label]
        other = starts[label] + (torch.rand(b, generator=g, device=DEVICE) * width).long()
        share = 0.3 * torch.rand((b, 1, 1), generator=g, device=DEVICE)
        blended = (1 - share) * images[one].float() + share * images[other].float()
        moved = torch.nn.functional.pad(blended, (2, 2, 2, 2))
        down, right = (torch.randint(5, (b,), generator=g, device=DEVICE) for _ in range(2))
        i, j = ((at[:, None] + torch.arange(28, device=DEVICE)) for at in (down, right))
        out[start : start + b] = (
            moved[torch.arange(b, device=DEVICE)[:, None, None], i[:, :, None], j[:, None, :]].reshape(b, 784).half()
        )
        truth[start : start + b] = label
    return out, truth.cpu().numpy()


def part_b() -> dict[str, Any]:
    X, truth = many_digits(8_000_000)
    y = hide_labels(truth, draw_labels(truth, 100, seed=100))
    out = {"fit": timed_fit(X, y, 1000, truth), "fit_in_784_columns": timed_fit(X, y, 1000, truth, n_components=None)}
    rows = prepared(X, None)
    del X
    return {**out, "iteration": iteration(rows, 1000, 784)}


def mixture(n: int, d: int = 64) -> torch.Tensor:
    """Float32 rows of 200 Gaussians of unequal sizes."""
    g = torch.Generator(device=DEVICE).manual_seed(0)
    centres = 2 * torch.randn((200, d), generator=g, device=DEVICE)
    X = torch.empty((n, d), device=DEVICE)
    for part in X.split(1_000_000):
        which = (200 * torch.rand(len(part), generator=g, device=DEVICE).sqrt()).long().clamp(max=199)
        part[:] = centres[which] + torch.randn(part.shape, generator=g, device=DEVICE)
    return X


def few_labels(n: int) -> np.ndarray:
    y = np.full(n, -1, dtype=np.int8)
    y[:20] = np.arange(20) % 10
    return y


def part_c() -> dict[str, Any]:
    X = mixture(50_000_000)
    out = {"fit": timed_fit(X, few_labels(len(X)), 2000)}
    rows = prepared(X, None)
    del X
    return {**out, "iteration": iteration(rows, 2000, 64)}


def growth() -> dict[str, Any]:
    """64 columns: seconds of a fit as rows grow at k = 1,000, and as points grow at 4 million rows."""
    X = mixture(32_000_000)
    by_rows = [
        {"rows": n, **timed_fit(X[:n], few_labels(n), 1000)}
        for n in (1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 32_000_000)
    ]
    by_points = [
        {"points": k, **timed_fit(X[:4_000_000], few_labels(4_000_000), k, repeats=3)}
        for k in (500, 1000, 2000, 4000, 8000, 32_000)
    ]
    keep = (
        "rows",
        "points",
        "seconds",
        "iterations_of_the_last_stage",
        "learning_rows",
        "peak_gigabytes_on_the_device",
    )
    return {
        "rows": [{name: r[name] for name in keep if name in r} for r in by_rows],
        "points": [{name: r[name] for name in keep if name in r} for r in by_points],
    }


def host() -> dict[str, Any]:
    """8 million × 64 float32 rows of this host, sent a block at a time, beside the same rows on the device."""
    X = mixture(8_000_000)
    X_here, y = X.cpu().numpy(), few_labels(len(X))
    from hidegl.rows import tensors

    out = {"on_the_device": timed_fit(X, y, 1000)["seconds"], "sent_at_once": timed_fit(X_here, y, 1000)["seconds"]}
    fitting = tensors.fitting
    tensors.fitting = lambda source, device: source
    try:
        out["sent_in_blocks"] = timed_fit(X_here, y, 1000)["seconds"]
    finally:
        tensors.fitting = fitting
    return out


def ensemble() -> dict[str, Any]:
    """AutoHiDeGL: MNIST from pixels with 50 labels, other labels on the same rows, and 50 million rows."""
    X, truth = load_data_set("mnist")
    y = hide_labels(truth, draw_labels(truth, 50, seed=60))
    out: dict[str, Any] = {}
    for effort in EFFORTS:
        model = AutoHiDeGL(effort, random_state=0, device=DEVICE)
        fitting = seconds(lambda model=model: model.fit(X, y).transduction_, 3)
        relabelling = seconds(lambda model=model: model.relabel(y).transduction_, 3)
        right = 100 * float(np.mean(model.transduction_[y == -1] == truth[y == -1]))
        out[effort] = {
            "seconds": round(fitting, 3),
            "relabel_seconds": round(relabelling, 3),
            "percent_right": round(right, 2),
        }
        print(effort, out[effort], flush=True)
    many, few = mixture(50_000_000), few_labels(50_000_000)
    model = AutoHiDeGL("quick", random_state=0, device=DEVICE)
    out["quick, 50,000,000 × 64"] = {"seconds": round(seconds(lambda: model.fit(many, few).transduction_, 3), 3)}
    return out


PARTS: dict[str, Callable[[], Any]] = {
    "ceilings": ceilings,
    "a": part_a,
    "b": part_b,
    "c": part_c,
    "growth": growth,
    "host": host,
    "ensemble": ensemble,
}


if __name__ == "__main__":
    main()

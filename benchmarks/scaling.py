"""Write docs/scaling.md from the stored results: python benchmarks/scaling.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import DOCS, stored
from hidegl.paper.quoted import paper_seconds

PAGE = DOCS / "scaling.md"

MACHINES, CORES, ROWS, COLUMNS, POINTS = 20, 16, 10**9, 256, 1500


def main() -> None:
    PAGE.write_text(page())
    print(PAGE)


def page() -> str:
    speed, gpu, dask = stored("speed"), stored("gpu"), stored("dask")
    cluster = dask["HiDeGL"]
    local = {r["rows"]: r for r in speed["rows"]["runs"] if r["where"] == "memory"}
    from_file = {r["rows"]: r for r in speed["rows"]["runs"] if r["where"] == "file"}
    grown = {r["rows"]: r for r in gpu["growth"]["rows"]}
    sizes = "\n".join(
        f"| {n:,} | {seconds(local, n)} | {seconds(from_file, n)} | {seconds(grown, n)} |"
        for n in sorted({*local, *grown})
    )
    a, b, c = gpu["a"], gpu["b"], gpu["c"]
    fits = "\n".join(
        f"| {what} | {fit['seconds']:.3f} | {fit['dtype']}, {fit['n_components']} columns | {right(fit)} |"
        for what, fit in (
            ("280,000 × 784 pixels, k = 500, a tensor on the GPU", a["fit_from_a_tensor"]),
            ("the same from a numpy array", a["fit_from_an_array"]),
            ("the same tensor, without principal components", a["fit_in_784_columns"]),
            ("… and all rows in every iteration", a["fit_in_784_columns_on_all_rows"]),
            ("8,000,000 × 784 in half precision, k = 1,000", b["fit"]),
            ("the same, without principal components", b["fit_in_784_columns"]),
            ("50,000,000 × 64, k = 2,000", c["fit"]),
        )
    )
    iterations = "\n".join(
        f"| {i['rows']:,} × {i['columns']}, k = {i['points']:,} | {i['e_step_and_sums_ms']} | "
        f"{i['with_tree_and_solve_ms']} | {i['teraflop']} | {i['gigabytes']} | {i['floor_ms']} | "
        f"{i['share_of_roofline']:.0%} | {i['share_of_three_passes']:.0%} |"
        for i in (a["iteration"], b["iteration"], c["iteration"])
    )
    points = ", ".join(f"{r['seconds']:.2f} s for {r['points']:,}" for r in gpu["growth"]["points"])
    one, many, killed = (cluster["runs"][way] for way in ("local", "cluster", "cluster, a worker killed"))
    limits, host = gpu["ceilings"], gpu["host"]
    same = a["same_labels_as_float64"]
    return TEXT.format(
        sizes=sizes,
        fits=fits,
        iterations=iterations,
        points=points,
        device=gpu["device"]["name"],
        torch=gpu["device"]["versions"]["torch"],
        copy=limits["copy_terabytes"],
        half=limits["float16_teraflops"],
        kmeans=a["kmeans_in_plain_torch"],
        same=f"{same['default']['percent']} % (default) and {same['784 columns']['percent']} % (784 columns)",
        host=host,
        paper_seconds=paper_seconds(),
        paper=f"{paper_seconds() / a['fit_from_a_tensor']['seconds']:,.0f}",
        local_seconds=middle([r["seconds"] for r in one]),
        cluster_seconds=middle([r["seconds"] for r in many]),
        ratio=cluster["times_local"],
        local_peak=one[0]["peak_megabytes_of_this_process"],
        driver_peak=max(r["peak_megabytes_of_this_process"] for r in many),
        worker_peak=max(p for r in many for p in r["peak_megabytes_of_each_worker"]),
        sent=many[0]["megabytes_to_this_host_an_iteration"],
        small=many[0]["megabytes_of_k_times_d"],
        killed_seconds=killed[0]["seconds"],
        killed_same="the same points and labels, bit for bit"
        if cluster["killed_same_labels"] and cluster["killed_same_points"]
        else "OTHER RESULTS",
        agreement=cluster["same_labels_as_local_percent"],
        processor=dask["environment"]["processor"],
        ensemble=ensemble(gpu["ensemble"]),
        predict=PREDICT.replace("RATES", rates()),
        commit=speed["environment"]["commit"],
        gpu_commit=gpu["environment"]["commit"],
        **billion(speed, dask, gpu),
    )


def ensemble(results: dict[str, Any]) -> str:
    """Lines of a table: AutoHiDeGL on the GPU."""
    lines = [
        f"| MNIST from pixels, 50 labels, {name} | {r['seconds']:.2f} | {r['relabel_seconds']:.2f} | {r['percent_right']} % |"
        for name, r in results.items()
        if "relabel_seconds" in r
    ]
    lines += [f"| {name} | {r['seconds']:.2f} | – | – |" for name, r in results.items() if "relabel_seconds" not in r]
    return "\n".join(lines)


def rates() -> str:
    """What `benchmarks/predict.py` found, as a table."""
    lines = ["| model | classes | MB sent | rows per CPU second |", "|---|---|---|---|"]
    for r in stored("predict")["runs"]:
        lines.append(f"| {r['effort']} | {r['classes']} | {r['megabytes_sent']} | {r['rows_per_cpu_second']:,} |")
    return "\n".join(lines)


def seconds(runs: dict[int, dict[str, Any]], n: int) -> str:
    return f"{runs[n]['seconds']:.2f}" if n in runs else "–"


def right(fit: dict[str, Any]) -> str:
    return f"{fit['percent_right']} %" if "percent_right" in fit else "–"


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def billion(speed: dict[str, Any], dask: dict[str, Any], gpu: dict[str, Any]) -> dict[str, str]:
    """The estimate for a fit of 10⁹ × 256 rows on 20 machines with 16 cores, from the measured rates of one core."""
    i = speed["iteration"][0]
    core = 2 * i["rows"] * i["columns"] * i["points"] / i["iteration_seconds"] / speed["environment"]["cores"]
    read = dask["rows"] * dask["columns"] * 4 / 2  # bytes, by each of two workers
    read /= middle([r["seconds_of_reading_all_files_once"] for r in dask["HiDeGL"]["runs"]["cluster"]])
    operations, size = 2 * ROWS * COLUMNS * POINTS, 4 * ROWS * COLUMNS
    all_cores = MACHINES * CORES
    assign, one_read = operations / core / all_cores, size / read / all_cores
    learning_rows = 256 * POINTS
    learning = 30 * 2 * learning_rows * COLUMNS * POINTS / core / all_cores
    c = gpu["c"]["iteration"]
    card = c["teraflop"] * 1e12 / (c["e_step_and_sums_ms"] / 1e3)
    reads = 6
    return {
        "core_rate": f"{core / 1e9:.0f}",
        "read_rate": f"{read / 1e6:.0f}",
        "terabytes": f"{size / 1e12:.1f}",
        "petaflop": f"{operations / 1e15:.2f}",
        "one_read": f"{one_read:.0f}",
        "reads": f"{reads * one_read:.0f}",
        "assign": f"{assign:.0f}",
        "learning": f"{learning:.1f}",
        "minutes": f"{(reads * one_read + assign + learning) / 60:.1f}",
        "kept": f"{8 * 8 * ROWS / MACHINES / 1e9:.1f}",
        "traffic": f"{POINTS * COLUMNS * 8 / 1e6:.1f}",
        "card_rate": f"{card / 1e12:.0f}",
        "card_seconds": f"{operations / card / MACHINES:.2f}",
        "card_gigabytes": f"{size / 2 / MACHINES / 1e9:.0f}",
    }


TEXT = """# Scaling

`HiDeGL` and `AutoHiDeGL` fit rows in memory, on disk, on a GPU and on a cluster. Only the place of the rows changes: X is
an array, a path, a tensor or a Dask array. The mathematics is written once (see [architecture](architecture.md)).
`python benchmarks/scaling.py` writes this page from [benchmarks/results](../benchmarks/results), which
`benchmarks/speed.py`, `benchmarks/gpu.py` and `benchmarks/cluster.py` make. Each file names its machine and
versions.

## Which engine for which size

| your rows | use |
|---|---|
| up to a million, or all that fit in memory | an array: no set-up |
| more than fit in memory, on one machine | a path: `.npy`, Parquet, HDF5, Zarr; read in blocks, as fast as memory |
| 5 million numbers or more, and a GPU | the same call: `device="auto"` finds the GPU; a tensor on it saves the copy |
| more than one machine can read in your time | a Dask array, or `hidegl.read_rows("rows/*.parquet", cluster=True)` |

`hidegl.read_rows` and `fit` also take CSV and TSV files, and read them into memory.

Seconds from the rows to all labels, with 64 columns and k = 1,000, on two cores of a server (commit {commit}) and on one {device}
(commit {gpu_commit}). The numbers on this page are of these commits, before searches in cells began at 500 points and before the
start changed, where nothing else is said:

| rows | array, two cores | file, two cores | tensor on the GPU |
|---|---|---|---|
{sizes}

## On a GPU

```bash
pip install '.[gpu]'
```

`HiDeGL(device="cuda").fit(X)` sends an array to the GPU. An array that does not fit there is sent in blocks, which
are read and copied while the GPU computes. `fit(tensor)` uses a tensor where it is. Attributes are numpy arrays;
for a tensor, `predict` returns a tensor.

Rows are stored in half precision on the GPU if rounding moves them by less than 1 % of the distance to their
nearest neighbours (measured on a sample), and in float32 otherwise. The matrix product only chooses the nearest
points. Their distances are computed again from differences, in float32. Compared with a fit entirely in float64
from the same start, the labels are equal for {same} of the 280,000 rows below.

One {device}, torch {torch}, median of 5 runs after a warm-up, including the start and the labels of all rows:

| fit | seconds | computed in | right, 100 labels |
|---|---|---|---|
{fits}

- The first row is {paper} times as fast as the paper ({paper_seconds} s on its own machine, without its k-means).
- 15 iterations on 280,000 × 784 rows take {kmeans[hidegl_seconds]} s. 15 steps of k-means in plain torch with TF32
  take {kmeans[kmeans_seconds]} s. (cuML and faiss were not available on that machine.)
- 4 million × 64 rows, by the number of points:
  {points}.
  The tree over more than 2,048 points grows by Borůvka's algorithm, and its system is solved by conjugate gradients.
  The sparse k×k systems of the graph are solved on the host.
- 8 million × 64 rows, k = 1,000: {host[on_the_device]} s on the GPU, {host[sent_at_once]} s from an array that is
  sent at once, {host[sent_in_blocks]} s from an array that is sent in blocks.

`AutoHiDeGL` in seconds, median of 3: a fit with the labels of all rows, and other labels on the same rows. The models are
learned on the GPU. Labels are spread on the host, on a sample of 20,000 rows.

| `AutoHiDeGL` | fit | other labels | right |
|---|---|---|---|
{ensemble}

One EM iteration in milliseconds, with rows in half precision and 3 points per row. The roofline is the time to read
X once and to compute X·Cᵀ once, at the peak rates measured on that GPU: {copy} TB/s for a copy and {half} Tflop/s
for a product in half precision.

| | E-step and sums | with tree and solve | Tflop | GB | roofline | share | share of three passes |
|---|---|---|---|---|---|---|---|
{iterations}

An iteration makes three passes: products and the choice of points (one Triton kernel, which writes nothing of size
n×k), distances (reads X again), and sums (read each row once per point). The last column compares their time with
the sum of their own minimum times. The rest is spent on the choice of the nearest points: with few columns, it
takes more instructions than the product itself.

## On a cluster

```bash
pip install '.[dask]'
```

```python
from distributed import Client
import hidegl

client = Client("scheduler:8786")  # or Client() for the cores of this machine
rows = hidegl.read_rows("embeddings/*.parquet", cluster=True)  # or any Dask array
model = hidegl.AutoHiDeGL().fit(rows, y)  # y: numpy or Dask
labels = model.predict(rows)  # a lazy Dask array
```

Blocks stay on their workers. An iteration is one task per block and a tree of sums. Only k×d numbers come back,
never rows, so the memory of the driver does not grow with the number of rows. If a worker dies, Dask computes its
blocks again. Sums are added in a fixed order, so the result is the same. If the scheduler is lost, an error says
so, and a fit with `checkpoint` resumes from its last iteration. With `device="cuda"` each worker computes on its
own GPU; Dask arrays of tensors work as well. Both were tested only with tensors on CPUs.

4,000,000 × 64 rows in 16 Parquet files, k = 500: two worker processes with one thread each, compared with the local
engine with two threads on the same files and the same two cores ({processor}), in turns:

| | local | cluster |
|---|---|---|
| seconds, labels included | {local_seconds} | {cluster_seconds} (median ratio of pairs: {ratio}) |
| peak memory of this process, MB | {local_peak:,} | {driver_peak:,} |
| peak memory of a worker, MB | | {worker_peak:,} |
| sent to this process per iteration, MB | | {sent} (k×d float64 are {small}) |

The cluster is faster because its workers read the files once and store the rows, while the single process reads them
again for each sample. {agreement} % of the labels are the same. When a worker was killed (SIGKILL) during the
learning, the fit took {killed_seconds} s and gave {killed_same}.

Labels of `AutoHiDeGL` are the same on arrays, tensors, Dask and files for at least 99.9 % of the rows of data with structure
(`tests/test_engines.py`). Rows without structure, such as a few round heaps with thousands of points in them, leave many places
for a point, and rounding decides which it takes. There the labels mean nothing, and differ.

{predict}
## A billion rows, estimated

10⁹ × 256 float32 rows are {terabytes} TB. The estimate is for 20 machines with 16 cores, at the rates of one core
that were measured here ({core_rate} Gflop/s in an EM iteration, {read_rate} MB/s read from Parquet):

| step | work | seconds |
|---|---|---|
| reading: once for each sample of rows (preparation, three stages, σ) and once for all rows | 6 × {terabytes} TB, {one_read} s each | {reads} |
| learning k = 1,500 points: about 30 iterations on 384,000 rows | {traffic} MB back per iteration | {learning} |
| assigning every row to its points: one product | {petaflop} Pflop | {assign} |
| the graph: two sums over stored assignments, {kept} GB per machine; k×k solves | | seconds |

That is about {minutes} minutes, if disks and network keep up with 16 reading cores. Most of the time is reading;
rows that workers store in memory are read only once. On 20 GPUs the rows fit in half precision ({card_gigabytes} GB
each), and the product takes {card_seconds} s at {card_rate} Tflop/s, the rate of the iteration on 50 million rows
above. Then all of the time is reading.
"""

PREDICT = """## Predict anywhere

`hidegl.Predictor` is what new rows need of a model, and nothing of the rows of its fit. It is small, can be pickled, and gives the
labels of `predict`. It takes arrays, pandas data frames, Arrow tables and record batches, and dicts of arrays; to all but
arrays it adds the columns `label` and `confidence`. A model of `hidegl.label` takes raw texts and tables here, too. Each process
builds the model when its first batch comes. Set `OMP_NUM_THREADS` to the cores that a worker has.

[Ray Data](https://docs.ray.io/en/latest/data/data.html):

```python
import ray
from hidegl import Predictor

predict = Predictor("model.hidegl", columns="embedding")  # the column of vectors
rows = ray.data.read_parquet("rows/")
rows.map_batches(predict, batch_size=10_000).write_parquet("labelled/")
```

Spark, as a map of data frames or as a function of columns. Workers need hidegl; `spark.submit.pyFiles` or an image brings it:

```python
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql.types import StringType
from hidegl import Predictor

predict = Predictor("model.hidegl", columns="embedding")
rows = spark.read.parquet("rows/").select("id", "embedding")
schema = "id long, embedding array<float>, label string, confidence float"
rows.mapInPandas(lambda batches: map(predict, batches), schema).write.parquet("labelled/")
label = predict_batch_udf(lambda: predict, return_type=StringType(), batch_size=10_000, input_tensor_shapes=[[384]])
rows.withColumn("label", label("embedding"))
```

Dask data frames:

```python
import dask.dataframe as dd
from hidegl import Predictor

predict = Predictor("model.hidegl", columns=[f"x{i}" for i in range(384)])
rows = dd.read_parquet("rows/")
rows.map_partitions(predict, meta=predict(rows.head(0))).to_parquet("labelled/")
```

A loop, which has one batch in memory at a time:

```python
import pyarrow.parquet as pq
from hidegl import Predictor

predict = Predictor("model.hidegl", columns="embedding")
for batch in pq.ParquetFile("rows.parquet").iter_batches(65_536):
    labelled = predict(batch)
```

`tests/test_predictor.py` runs these with Dask, and with Ray and Spark where they are installed (tried with Ray 2.60 and Spark
4.3). With 64 columns, in batches of 20,000 rows (`python benchmarks/predict.py`; two cores are two CPU seconds a second):

RATES
"""

if __name__ == "__main__":
    main()

"""A `Predictor` labels batches as the model does, in other processes and in batches of many forms."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from hidegl import AutoHiDeGL, HiDeGL, Predictor, label


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    centres = rng.normal(size=(3, 5)) * 3
    X = (centres[y] + rng.normal(size=(900, 5))).astype(np.float32)
    return X, np.array(["buy", "hold", "sell"])[y]


@pytest.fixture(scope="module")
def model(rows):
    X, y = rows
    return AutoHiDeGL(effort="quick", random_state=0).fit(X[:600], given(y))


@pytest.fixture(scope="module")
def predict(model):
    return Predictor(model, columns="vector")


def given(y):
    y = y[:600].astype(object)
    y[30:] = None
    return y


def test_labels_and_confidences_are_those_of_the_model(model, predict, rows):
    X = rows[0][600:]
    np.testing.assert_array_equal(predict(X), model.predict(X))
    with model.stream_labels(X) as stream:
        (block,) = stream
    found = predict({"vector": X})
    np.testing.assert_array_equal(found["label"], block.labels)
    np.testing.assert_array_equal(found["confidence"], block.confidence)
    np.testing.assert_array_equal(predict.classes_, model.classes_)


def test_a_file_gives_the_same_and_neither_has_rows(model, predict, rows, tmp_path):
    X = np.repeat(rows[0], 50, axis=0)
    y = np.repeat(rows[1].astype(object), 50)
    y[rows[0].shape[0] :] = None
    large = AutoHiDeGL(effort="quick", random_state=0).fit(X, y)
    large.save(tmp_path / "large.hidegl")
    found = Predictor(tmp_path / "large.hidegl")
    np.testing.assert_array_equal(found(rows[0]), large.predict(rows[0]))
    size = len(pickle.dumps(found))
    assert size < (tmp_path / "large.hidegl").stat().st_size / 5
    assert all(len(array) < 10_000 for array in found._state[1].values() if array.ndim)


@pytest.mark.parametrize("form", ["dict", "frame", "columns", "table", "batch", "fixed"])
def test_batches_of_every_form(model, rows, form):
    X = rows[0][600:640]
    lists, of_list = list(X), pa.array(X.tolist(), pa.list_(pa.float32()))
    numbers = pa.array(range(len(X)))
    batch, columns = {
        "dict": ({"id": np.arange(len(X)), "vector": X}, "vector"),
        "frame": (pd.DataFrame({"id": np.arange(len(X)), "vector": lists}, index=np.arange(len(X)) + 7), "vector"),
        "columns": (pd.DataFrame(X, columns=list("abcde")), list("abcde")),
        "table": (pa.table({"id": numbers, "vector": of_list}), None),
        "batch": (pa.record_batch({"id": numbers, "vector": of_list}), "vector"),
        "fixed": (pa.table({"vector": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5)}), None),
    }[form]
    found = Predictor(model, columns=columns)(batch)
    assert type(found) is type(batch)
    np.testing.assert_array_equal(np.array(found["label"]), model.predict(X))
    assert 0 < np.array(found["confidence"]).min() <= np.array(found["confidence"]).max() <= 1
    if form == "frame":
        assert list(found.index) == list(batch.index)
        assert list(found.columns) == ["id", "vector", "label", "confidence"]


def test_columns_are_those_of_the_fit_in_their_order(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = HiDeGL(50, random_state=0).fit(frame[:600], given(y))
    mixed = frame[600:][["e", "a", "d", "c", "b"]].assign(name="x")
    np.testing.assert_array_equal(np.array(Predictor(model)(mixed)["label"]), model.predict(frame[600:]))


def test_empty_batches_have_the_columns_of_others(predict, rows):
    frame = pd.DataFrame({"vector": list(rows[0][:3])})
    empty, full = predict(frame[:0]), predict(frame)
    assert list(empty.columns) == list(full.columns)
    assert list(empty.dtypes) == list(full.dtypes)
    assert len(predict(rows[0][:0])) == 0
    table = pa.table({"vector": pa.array(rows[0][:3].tolist())})
    assert predict(table.slice(0, 0)).schema.names == predict(table).schema.names


def test_raw_texts_by_the_embedder_of_the_model():
    texts = [f"{word} number {n}" for n in range(60) for word in ("refund the payment", "lost my card")]
    result = label(texts, {0: "refund", 1: "card", 2: "refund", 3: "card"}, embedder="words", effort="quick")
    predict = pickle.loads(pickle.dumps(Predictor(result.model)))
    asked = ["please refund the payment", "the card is lost"]
    expected = list(result.model.predict(asked))
    assert list(predict(asked)) == expected
    assert list(predict(np.array(asked, dtype=object))) == expected
    assert list(predict(pd.DataFrame({"text": asked}))["label"]) == expected
    assert list(predict({"text": np.array(asked, dtype=object)})["label"]) == expected


def test_wrong_uses(model, predict, rows, tmp_path):
    X, y = rows
    with pytest.raises(TypeError, match="model must be a fitted"):
        Predictor(3)
    with pytest.raises(NotFittedError):
        Predictor(HiDeGL(20))
    with pytest.raises(NotFittedError, match="no label was given"):
        Predictor(HiDeGL(20).fit(X))
    with pytest.raises(ValueError, match="two different names"):
        Predictor(model, outputs=("label", "label"))
    with pytest.raises(ValueError, match="no column 'vector'"):
        predict({"embedding": X})
    with pytest.raises(ValueError, match="'label' already"):
        predict({"vector": X[:3], "label": y[:3]})
    with pytest.raises(ValueError, match="must have the 5 columns"):
        predict(X[:, :4])
    with pytest.raises(ValueError, match="NaN"):
        predict(X[:3] * np.nan)


IN_ANOTHER_PROCESS = """
import pickle, sys
import numpy as np
predict = pickle.load(open(sys.argv[1], "rb"))
np.save(sys.argv[3], predict(np.load(sys.argv[2])))
"""


def test_travels_into_a_fresh_process(model, predict, rows, tmp_path):
    X = rows[0][600:]
    (tmp_path / "predict.pickle").write_bytes(pickle.dumps(predict))
    np.save(tmp_path / "X.npy", X)
    paths = [tmp_path / name for name in ("predict.pickle", "X.npy", "labels.npy")]
    subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS, *paths], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.predict(X))


def test_a_model_with_weak_sources(rows):
    X, y = rows
    model = AutoHiDeGL(effort="quick", random_state=0).fit(X, np.r_[given(y), np.full(300, None)], weak={"llm": y})
    np.testing.assert_array_equal(Predictor(model)(X[:50]), model.predict(X[:50]))


def test_dask_data_frames(model, rows, tmp_path):
    dd = pytest.importorskip("dask.dataframe", reason="Dask has no data frames here")
    X = rows[0][600:]
    frame = pd.DataFrame(X, columns=list("abcde"))
    model.save(tmp_path / "model.hidegl")
    predict = Predictor(tmp_path / "model.hidegl", columns=list("abcde"))
    lazy = dd.from_pandas(frame, npartitions=3)
    found = lazy.map_partitions(predict, meta=predict(lazy.head(0))).compute(scheduler="processes", num_workers=2)
    np.testing.assert_array_equal(np.array(found["label"]), model.predict(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_ray_data(model, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    X = rows[0][600:]
    model.save(tmp_path / "model.hidegl")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        data = ray.data.from_items([{"row": n, "vector": x} for n, x in enumerate(X)])
        predict = Predictor(tmp_path / "model.hidegl", columns="vector")
        found = data.map_batches(predict, batch_size=100).to_pandas().sort_values("row")
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(np.array(found["label"]), model.predict(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_spark(model, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql.types import StringType

    X = rows[0][600:]
    model.save(tmp_path / "model.hidegl")
    predict = Predictor(tmp_path / "model.hidegl", columns="vector")
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame([(n, x.tolist()) for n, x in enumerate(X)], "row int, vector array<float>")
        labelled = frame.mapInPandas(
            lambda batches: map(predict, batches), "row int, vector array<float>, label string, confidence float"
        )
        found = [row.label for row in labelled.sort("row").collect()]
        udf = predict_batch_udf(lambda: predict, return_type=StringType(), batch_size=100, input_tensor_shapes=[[5]])
        by_udf = [row.label for row in frame.select("row", udf("vector").alias("label")).sort("row").collect()]
    finally:
        spark.stop()
    np.testing.assert_array_equal(found, model.predict(X))
    np.testing.assert_array_equal(by_udf, model.predict(X))

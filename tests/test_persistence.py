"""Models as files."""

import json
import stat

import numpy as np
import pytest

import hidegl
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.basics import archives


@pytest.fixture
def model(moons):
    X, y, _ = moons
    return HiDeGL(40, rule="lgc", random_state=0).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"rule": "agr"}, {"n_components": 5}, {"preprocess": "standardize"}])
@pytest.mark.parametrize("names", [None, np.array(["a", "b", "c", None], dtype=object)])
def test_a_model_comes_back_as_it_was(tmp_path, moons, options, names):
    X, y, truth = moons
    labels = y if names is None else names[y]
    model = HiDeGL(40, random_state=0, **options).fit(X, labels)
    model.save(tmp_path / "model.hidegl")
    loaded = hidegl.load(tmp_path / "model.hidegl")
    assert loaded.get_params() == model.get_params()
    assert loaded.settings_ == model.settings_
    for name in ("points_", "mass_", "coef_", "objective_", "label_distributions_"):
        np.testing.assert_allclose(getattr(loaded, name), getattr(model, name), err_msg=name)
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.tree_.toarray(), model.tree_.toarray())
    np.testing.assert_array_equal(loaded.assignments_.toarray(), model.assignments_.toarray())
    assert (loaded.n_iter_, loaded.converged_) == (model.n_iter_, model.converged_)
    np.testing.assert_array_equal(loaded.relabel(truth).coef_, model.relabel(truth).coef_)


def test_a_model_without_labels_and_with_column_names(tmp_path, moons):
    pd = pytest.importorskip("pandas")
    X, y, _ = moons
    frame = pd.DataFrame(X).rename(columns=lambda i: f"x{i}")
    start = X[:30]
    model = HiDeGL(start=start, random_state=np.random.RandomState(0)).fit(frame)
    model.save(str(tmp_path / "model"))
    loaded = hidegl.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.start, start)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(loaded.relabel(y).predict(frame), model.relabel(y).predict(frame))


def test_file_has_the_usual_permissions_and_no_other_file_is_left(tmp_path, model):
    (tmp_path / "other").write_text("")
    model.save(tmp_path / "model")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "other"]
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


def test_failed_save_leaves_the_old_file(tmp_path, model, monkeypatch):
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()

    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(archives.np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        HiDeGL().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "array", "foreign"])
def test_damaged_and_foreign_files_are_refused(tmp_path, model, damage):
    path = tmp_path / "model"
    model.save(path)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("hello")
    elif damage == "array":
        path.unlink()
        np.save(tmp_path / "array.npy", np.zeros(3))
        (tmp_path / "array.npy").rename(path)
    else:
        np.savez(tmp_path / "foreign.npz", a=np.zeros(3))
        (tmp_path / "foreign.npz").replace(path)
    with pytest.raises(ValueError, match="not a hidegl model, or it is damaged"):
        hidegl.load(path)


def test_file_from_a_newer_version_is_refused(tmp_path, model, monkeypatch):
    monkeypatch.setattr(archives, "FORMAT", archives.FORMAT + 1)
    model.save(tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"newer hidegl \(file format 3, this version reads up to 2\)"):
        hidegl.load(tmp_path / "model")


def test_file_that_lacks_a_part_is_refused(tmp_path):
    header = {"model": "HiDeGL", "version": "0", "parameters": {}, "values": {}}
    archives.write_archive(tmp_path / "model", header, {"C": np.zeros((2, 2))})
    with pytest.raises(ValueError, match="not a hidegl model, or it is damaged"):
        hidegl.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("structure.0.columns", lambda a: a + 10**6),
        ("structure.0.columns", lambda a: a.astype(np.int64)),
        ("structure.0.weights", lambda a: a * np.nan),
        ("structure.0.weights", lambda a: a[:-1]),
        ("labelled_codes", lambda a: a + 50),
        ("labelled_codes", lambda a: a[:-1]),
        ("labelled_rows", lambda a: a + 10**6),
        ("labelling.coef", lambda a: a[:-1]),
    ],
)
def test_file_with_wrong_numbers_is_refused(tmp_path, model, name, change):
    values, arrays = model.state(with_rows=True)
    header = {"model": "HiDeGL", "version": "0", "parameters": {}, "values": values}
    archives.write_archive(tmp_path / "model", header, {**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match="not a hidegl model, or it is damaged"):
        hidegl.load(tmp_path / "model")


def test_file_of_an_unknown_class_is_refused(tmp_path):
    archives.write_archive(tmp_path / "model", {"model": "Mine"}, {})
    with pytest.raises(ValueError, match="of the class 'Mine', this process knows AutoHiDeGL, HiDeGL"):
        hidegl.load(tmp_path / "model")


def test_parameters_of_every_form_are_saved(tmp_path, moons):
    pd = pytest.importorskip("pandas")
    X, y, _ = moons
    for prior in ([0.2, 0.3, 0.5], (0.2, 0.3, 0.5), pd.Series([0.2, 0.3, 0.5])):
        model = HiDeGL(np.int64(40), sigma=np.float32(2), class_prior=prior, start=pd.DataFrame(X[:40])).fit(X, y)
        model.save(tmp_path / "model")
        loaded = hidegl.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.class_prior, [0.2, 0.3, 0.5])
        np.testing.assert_array_equal(loaded.relabel(y).transduction_, model.transduction_)


def test_class_shares_by_name_come_back(tmp_path, moons):
    X, _, truth = moons
    names = np.array(["low", "high", "middle"])[truth]
    few = np.where(np.arange(len(X)) % 50 == 0, names, None)
    shares = {"low": 0.2, "middle": 0.5, "high": 0.3}
    model = HiDeGL(40, class_prior=shares, random_state=0).fit(X, few)
    ordered = HiDeGL(40, class_prior=[0.3, 0.2, 0.5], random_state=0).fit(X, few)
    np.testing.assert_array_equal(model.transduction_, ordered.transduction_)
    model.save(tmp_path / "m.hidegl")
    assert hidegl.load(tmp_path / "m.hidegl").class_prior == shares
    auto = AutoHiDeGL("quick", class_prior={**shares}, random_state=0).fit(X, few)
    assert auto.settings_["class_shares"] == [0.3, 0.2, 0.5]


def test_object_parameter_is_refused(tmp_path, moons):
    X, y, _ = moons
    model = HiDeGL(40).fit(X, y).set_params(class_prior={"a", "b"})
    with pytest.raises(TypeError, match="class_prior cannot be saved without pickle"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_missing_file():
    with pytest.raises(FileNotFoundError):
        hidegl.load("no/such/file")


def test_file_holds_no_pickle(tmp_path, model):
    model.save(tmp_path / "model")
    with np.load(tmp_path / "model", allow_pickle=False) as archive:
        header = json.loads(str(archive[archives.HEADER]))
        assert all(archive[name].dtype != object for name in archive.files)
    assert header["model"] == "HiDeGL"
    assert header["version"] == hidegl.__version__

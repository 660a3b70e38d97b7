"""Texts as vectors: in Python, on the command line, in a cache and in model files."""

from __future__ import annotations

import csv
import json
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from hidegl import AutoHiDeGL, load
from hidegl.embedding import TextEmbedder, load_embedder, minilm, static_vectors, ways

pytest.importorskip("typer", reason="needs the extra cli")

from commands import hidegl, refused
from hidegl.cli.model_commands import read_embedder
from hidegl.cli.running import run
from hidegl.intake import vector_cache
from hidegl.intake.text_rows import functions_of_this_folder

TOPICS = {
    "weather": ("rain", "cloud", "storm", "wind", "snow", "sun"),
    "kitchen": ("pan", "oven", "soup", "bread", "salt", "knife"),
    "music": ("guitar", "song", "drum", "choir", "violin", "tune"),
}
needs_static = pytest.mark.skipif(not static_vectors.is_here(), reason="needs the extra static")
needs_minilm = pytest.mark.skipif(not minilm.is_here(), reason="needs the extra text")


def sentences(n=240):
    """Texts of three topics, and the topic of each."""
    rng = np.random.default_rng(0)
    topics = np.array(list(TOPICS))[np.arange(n) % 3]
    texts = ["there is a {} and some {} near the {}".format(*rng.choice(TOPICS[topic], 3)) for topic in topics]
    return [f"{text} {i}" for i, text in enumerate(texts)], topics


def letters(texts):
    """An embedder of our own: how often each letter occurs."""
    return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], dtype=float)


@pytest.fixture
def own_embedder(monkeypatch):
    module = types.ModuleType("own_embedder")
    module.letters, module.number, module.calls = letters, 3, []

    def counted(texts):
        module.calls.append(len(texts))
        return letters(texts)

    module.counted = counted
    module.broken = lambda texts: np.full((len(texts), 2), np.nan)
    module.short = lambda texts: np.ones((1, 2))
    monkeypatch.setitem(sys.modules, "own_embedder", module)
    return module


# In Python


@pytest.mark.parametrize("embedder", ["words", "own_embedder:letters"])
def test_an_embedder_makes_vectors_and_comes_back_from_a_file(embedder, own_embedder, tmp_path):
    texts, topics = sentences()
    made = TextEmbedder(embedder).fit(texts)
    X = made.transform(texts)
    assert X.dtype == np.float32
    assert len(X) == len(texts)
    y = np.where(np.arange(len(texts)) < 30, np.unique(topics, return_inverse=True)[1], -1)
    model = AutoHiDeGL("quick", random_state=0).fit(X, y)
    model.save(tmp_path / "model", embedder=made)
    again = load_embedder(tmp_path / "model", embedder=embedder)
    assert again.transform([]).shape == (0, X.shape[1])
    np.testing.assert_array_equal(again.transform(texts[:9]), X[:9])
    np.testing.assert_array_equal(load(tmp_path / "model").predict(again.transform(texts[:9])), model.predict(X[:9]))
    model.save(tmp_path / "without")
    assert load_embedder(tmp_path / "without") is None


def test_words_tell_topics_apart_and_take_any_text():
    texts, topics = sentences()
    X = TextEmbedder("words").fit_transform(texts)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    similar = X @ X.T
    same = topics[:, None] == topics[None]
    assert similar[same].mean() > similar[~same].mean() + 0.1
    made = TextEmbedder("words").fit(texts)
    strange = made.transform(["", None, float("nan"), "unheard-of", "x" * 100_000, "雨", "half a \ud800 character", 3])
    assert np.isfinite(strange).all()
    np.testing.assert_array_equal(made.transform(pd.Series(["rain", None, pd.NA], dtype="string"))[1:], 0)
    with pytest.raises(ValueError, match="the texts contain no words"):
        TextEmbedder("words").fit(["", "  ", None])


def test_parts_of_words_know_inflected_and_misspelled_words():
    made = TextEmbedder("words").fit(sentences()[0])
    known, plural, misspelled, other = made.transform(["violin", "violins", "violinn", "bread"])
    assert known @ plural > 0.5
    assert known @ misspelled > 0.5
    assert known @ other < 0.3


def test_what_is_no_word_is_not_stored(tmp_path):
    texts = [*sentences()[0], "x" * 50_000]
    made = TextEmbedder("words").fit(texts)
    assert max(len(name) for part in made.way_.parts for name in part.names) < 100
    X = made.transform(texts)
    AutoHiDeGL("quick", random_state=0).fit(X).save(tmp_path / "model", embedder=made)
    assert (tmp_path / "model").stat().st_size < 3e6


def test_columns_of_texts_are_joined():
    made = TextEmbedder("words").fit(sentences()[0])
    joined = made.transform(["rain\nwind"])
    np.testing.assert_array_equal(made.transform([["rain", "wind"]]), joined)


def test_an_embedder_is_a_transformer_for_a_pipeline():
    texts, topics = sentences()
    y = [topic if i < 30 else None for i, topic in enumerate(topics)]
    pipeline = clone(make_pipeline(TextEmbedder("words"), AutoHiDeGL("quick", random_state=0))).fit(texts, y)
    assert np.mean(pipeline.predict(texts) == topics) > 0.9


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (3, "embedder must be a name, got 3"),
        ("", "embedder must be a name"),
        ("no_such_package:f", "package.module:function, got 'no_such_package:f'"),
        ("own_embedder:nothing", "package.module:function, got 'own_embedder:nothing'"),
        (".own:nothing", "package.module:function, got '.own:nothing'"),
        ("own_embedder:number", "must name a function, got 'own_embedder:number', which is int"),
    ],
)
def test_a_name_that_is_no_embedder(embedder, message, own_embedder):
    with pytest.raises(ValueError, match=message):
        TextEmbedder(embedder).fit(["a text"])


def test_mistakes_with_texts(own_embedder):
    with refused("texts"):
        TextEmbedder("words").fit("one text")
    with pytest.raises(ValueError, match="must give one vector per row, got the shape"):
        TextEmbedder("own_embedder:short").fit_transform(["a", "b"])


def test_another_embedder_of_the_same_name_is_refused(own_embedder, tmp_path):
    texts, _ = sentences()
    made = TextEmbedder("own_embedder:letters").fit(texts)
    y = np.where(np.arange(len(texts)) < 30, np.arange(len(texts)) % 3, -1)
    AutoHiDeGL("quick", random_state=0).fit(made.transform(texts), y).save(tmp_path / "model", embedder=made)
    with pytest.raises(ValueError, match="with the function 'own_embedder:letters': if you trust it, name it again"):
        load_embedder(tmp_path / "model")  # a file alone makes nothing run
    with pytest.raises(ValueError, match="must be 'own_embedder:letters', with which the model was made, got 'words'"):
        load_embedder(tmp_path / "model", embedder="words")
    own_embedder.letters = lambda texts: letters(texts) * (1 + 1e-5)  # as another machine rounds
    assert load_embedder(tmp_path / "model", embedder="own_embedder:letters") is not None
    own_embedder.letters = lambda texts: letters(texts)[:, ::-1]
    with pytest.raises(ValueError, match="gives other vectors than those that the model was made with"):
        load_embedder(tmp_path / "model", embedder="own_embedder:letters")


@pytest.mark.parametrize("name", [None, "words", "pretty", "org/model"])
def test_a_model_file_makes_no_module_of_the_folder_run(name, folder, monkeypatch):
    """Installed modules come first even where the user names a function of the folder."""
    before, seen = list(sys.path), []
    monkeypatch.setattr("hidegl.embedding.load_embedder", lambda *_, **__: seen.append(list(sys.path)) or "embedder")
    read_embedder(Path("model"), name)
    read_embedder(Path("model"), "own:letters")
    assert seen == [before, [*before, str(folder)]]
    assert sys.path == before
    for other in ("auto", name or "auto"):
        with functions_of_this_folder(other):
            assert sys.path == before


def test_words_without_components_are_refused():
    values, arrays = TextEmbedder("words").fit(sentences()[0]).way_.state()
    with pytest.raises(ValueError, match="components of the embedder must be one or more"):
        ways.restored((values, {**arrays, "components": arrays["components"][:0]}))


def test_a_folder_that_a_model_file_names_has_to_be_named_again(folder):
    Path("pretty").mkdir()
    with pytest.raises(ValueError, match="the model in 'pretty': if you trust it, name it again"):
        ways.restored(({"name": "pretty", "mark": "x"}, {}))


@needs_minilm
def test_the_sentence_model_knows_meaning_and_not_words_alone():
    texts = ["How do I reset my password?", "I forgot my login code", "The soup needs more salt", ""]
    X = TextEmbedder("minilm").fit_transform(texts)
    assert X.shape == (4, 384)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert X[0] @ X[1] > X[0] @ X[2] + 0.2
    alone = TextEmbedder("minilm").fit_transform(texts[:1])
    assert alone[0] @ X[0] > 0.99  # as far as the padding of 8-bit numbers lets it
    assert np.isfinite(TextEmbedder("minilm").fit_transform(["long " * 20_000, "half a \ud800 character"])).all()


@needs_minilm
def test_the_sentence_model_gives_the_vectors_that_others_got(real_data):
    import os

    real_data("banking77")
    with np.load(Path(os.environ["HIDEGL_DATA"]) / "banking77.npz") as stored:
        texts, expected = [str(text) for text in stored["text"][:200]], stored["X"][:200].astype(float)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert (minilm.embed(texts) * expected).sum(axis=1).mean() > 0.99


@needs_static
def test_static_vectors_are_the_mean_of_those_of_word_pieces(tmp_path):
    texts = ["How do I reset my password?", "I forgot my login code", "The soup needs more salt", "", "x" * 100_000]
    made = TextEmbedder("static").fit(texts)
    X = made.transform(texts)
    table, tokenizer = static_vectors.load()
    for text, vector in zip(texts[:3], X, strict=False):
        mean = table[tokenizer.encode(text, add_special_tokens=False).ids].mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
    assert X[0] @ X[1] > X[0] @ X[2]
    np.testing.assert_array_equal(X[3], 0)
    assert made.transform([]).shape == (0, 256)
    AutoHiDeGL("quick").fit(np.vstack([X] * 3)).save(tmp_path / "model", embedder=made)
    np.testing.assert_array_equal(load_embedder(tmp_path / "model").transform(texts), X)


@pytest.mark.parametrize(
    ("module", "name", "extra"), [(minilm, "minilm", "text"), (static_vectors, "static", "static")]
)
def test_an_embedder_without_its_extra_names_it(module, name, extra, monkeypatch):
    monkeypatch.setattr(module, "is_here", lambda: False)
    with pytest.raises(ImportError, match=rf"the embedder '{name}' needs an extra: pip install 'hidegl\[{extra}\]'"):
        TextEmbedder(name).fit(["a text"])


@needs_static
def test_static_vectors_that_were_changed_are_refused(monkeypatch):
    monkeypatch.setattr(static_vectors, "WEIGHTS", "0" * 64)
    static_vectors.load.cache_clear()
    with pytest.raises(ValueError, match="is not the file that hidegl knows"):
        TextEmbedder("static").fit_transform(["a text"])
    static_vectors.load.cache_clear()


@needs_minilm
def test_weights_that_were_changed_are_refused(monkeypatch):
    monkeypatch.setattr(minilm, "WORDS", "0" * 64)
    minilm.load.cache_clear()
    with pytest.raises(ValueError, match="is not the file that hidegl knows"):
        minilm.load()
    minilm.load.cache_clear()


# On the command line


def write(path, columns):
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def table(labelled=30):
    texts, topics = sentences()
    given = [topic if i < labelled else "" for i, topic in enumerate(topics)]
    return {"id": range(len(texts)), "note": texts, "length": map(len, texts), "topic": given}, topics


def read(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_with_a_column_of_text_is_labelled(folder, capsys):
    columns, topics = table()
    write("notes.csv", columns)
    hidegl("label notes.csv --labels topic --text note --embedder words --effort quick --model notes.hidegl")
    said = capsys.readouterr().err
    assert "learning from the text in 'note'" in said
    assert "length (the text is used)" in said
    assert "240 texts by words" in said
    assert np.mean([row["label"] == topic for row, topic in zip(read("notes.labelled.csv"), topics, strict=True)]) > 0.9
    write("new.csv", {"note": ["a violin and a choir", "soup with bread"]})
    hidegl("predict notes.hidegl new.csv")
    assert "2 classes, and 1 without rows" in capsys.readouterr().out
    assert [row["label"] for row in read("new.predicted.csv")] == ["music", "kitchen"]
    hidegl("inspect notes.hidegl --json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["embedder"].startswith("words ")
    for command in ("suggest notes.csv --labels topic -n 3", "audit notes.csv --labels topic"):
        hidegl(f"{command} --text note --embedder words")
    assert len(read("notes.to_label.csv")) == 3


def test_vectors_are_kept_beside_the_file(folder, own_embedder, monkeypatch, capsys):
    monkeypatch.setattr(vector_cache, "WORTH_KEEPING", 0.0)
    columns, _ = table()
    write("notes.csv", columns)
    command = "label notes.csv --labels topic --embedder own_embedder:counted --effort quick -f"

    def embedded():
        own_embedder.calls.clear()
        hidegl(command)
        return max(own_embedder.calls)  # the two texts of the probe are always embedded

    assert embedded() == 240
    assert embedded() == 2
    assert "from .hidegl_cache" in capsys.readouterr().err
    (kept,) = Path(".hidegl_cache").glob("*.npy")
    kept.write_bytes(kept.read_bytes()[:1000])  # cut short
    assert embedded() == 240
    assert embedded() == 2
    columns, _ = table()
    columns["note"] = [text.upper() for text in columns["note"]]
    write("notes.csv", columns)
    assert embedded() == 240
    command += " --no-cache"
    assert embedded() == 240
    assert len(list(Path(".hidegl_cache").glob("*.npy"))) == 2


MISTAKES = {
    "--text length": "--text: 'length' contains numbers, not text; --columns length learns from numbers",
    "--text nothing": "--text: there is no column 'nothing'",
    "--text topic": "--text: 'topic' cannot be learned from: it is the label",
    "--text note --columns length": "--text excludes --columns",
    "--text blank": "the text in 'blank' is empty in every row",
    "--columns topic": "--columns: 'topic' cannot be learned from: it is the label",
    "--columns length --embedder words": "--embedder is for texts, but notes.csv is learned from the column 'length'",
    "--embedder own_embedder:broken": "--embedder: own_embedder:broken gave NaN or infinity",
    "--embedder own_embedder:nothing": "--embedder: embedder must name a function as package.module:function",
}


@pytest.mark.parametrize("options", MISTAKES)
def test_wrong_uses_of_texts_say_what_to_do(options, folder, own_embedder, capsys):
    columns, _ = table()
    columns["blank"] = [" "] * 240
    write("notes.csv", columns)
    assert run(["label", "notes.csv", "--labels", "topic", *options.split()]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert MISTAKES[options] in error
    assert [path.name for path in folder.iterdir()] == ["notes.csv"]


def test_a_model_of_texts_says_what_it_lacks(folder, own_embedder, capsys):
    columns, _ = table()
    write("notes.csv", columns)
    hidegl(
        "label notes.csv --labels topic --text note --embedder own_embedder:letters --effort quick --model notes.hidegl"
    )
    write("other.csv", {"comment": ["a violin"]})
    assert run(["predict", "notes.hidegl", "other.csv", "--embedder", "own_embedder:letters"]) == 2
    assert "other.csv lacks columns of the fit: note" in capsys.readouterr().err
    write("new.csv", {"note": ["a violin"], "other": [3]})
    assert run(["predict", "notes.hidegl", "new.csv"]) == 1
    assert "notes.hidegl cannot be used: it was made with the function" in capsys.readouterr().err
    hidegl("predict notes.hidegl new.csv --embedder own_embedder:letters")
    hidegl("predict notes.hidegl new.csv --embedder own_embedder:letters --text note -f")
    del own_embedder.letters
    assert run(["predict", "notes.hidegl", "new.csv", "-f", "--embedder", "own_embedder:letters"]) == 1
    assert "notes.hidegl cannot be used: embedder must name a function" in capsys.readouterr().err


def test_a_model_of_numbers_does_not_learn_from_a_text_beside_them(folder, capsys):
    X = np.random.default_rng(0).normal(size=(90, 2)) + 5 * (np.arange(90) % 3)[:, None]
    np.save("X.npy", X)
    write("labels.csv", {"row": range(9), "label": [0, 1, 2] * 3})
    hidegl("label X.npy --labels labels.csv --effort quick --model numbers.hidegl")
    write("new.csv", {"note": sentences(3)[0], "a": X[:3, 0], "b": X[:3, 1]})
    hidegl("predict numbers.hidegl new.csv")
    assert [row["label"] for row in read("new.predicted.csv")] == ["0", "1", "2"]
    assert run(["predict", "numbers.hidegl", "new.csv", "-f", "--embedder", "words"]) == 2
    assert "--embedder is for texts and images, but numbers.hidegl was made from numbers" in capsys.readouterr().err


def test_a_model_of_texts_made_in_python_does_not_read_numbers_as_texts(folder, capsys):
    texts, topics = sentences()
    made = TextEmbedder("words").fit(texts)
    y = np.where(np.arange(len(texts)) < 30, np.unique(topics, return_inverse=True)[1], -1)
    AutoHiDeGL("quick", random_state=0).fit(made.transform(texts), y).save("made.hidegl", embedder=made)
    write("numbers.csv", {"a": [1.5, 2.5], "b": [3, 4]})
    assert run(["predict", "made.hidegl", "numbers.csv"]) == 2
    assert "the model labels texts: name their column with --text" in capsys.readouterr().err
    write("words.csv", {"word": ["violin", "soup"], "b": [3, 4]})
    hidegl("predict made.hidegl words.csv --columns word")


def test_a_function_of_the_working_folder_can_be_named(folder, capsys):
    Path("own_letters.py").write_text(
        "import numpy as np\ndef count(texts):\n    return np.array([[t.count(c) for c in 'aeiou'] for t in texts])\n"
    )
    columns, _ = table()
    write("notes.csv", columns)
    hidegl("label notes.csv --labels topic --embedder own_letters:count --effort quick")
    sys.modules.pop("own_letters")


def test_a_remark_beside_many_measurements_is_not_what_rows_are_about(folder, capsys):
    columns, _ = table()
    columns |= {f"measured_{j}": np.random.default_rng(j).normal(size=240) for j in range(4)}
    write("measured.csv", columns)
    hidegl("label measured.csv --labels topic --effort quick")
    said = capsys.readouterr().err
    assert "learning from 6 columns: 5 numbers, 1 text" in said


def test_names_and_categories_are_not_what_rows_are_about(folder, capsys):
    columns, _ = table()
    columns |= {"name": [f"Person {i}" for i in range(240)], "kind": ["a kind of thing here"] * 240}
    del columns["note"]
    write("people.csv", columns)
    hidegl("label people.csv --labels topic --effort quick")
    assert "learning from the column 'length'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def tiny_sentence_model(tmp_path_factory):
    """A sentence-transformers model of a few numbers, in a folder."""
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    parts = tmp_path_factory.mktemp("parts")
    config = BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    BertModel(config).save_pretrained(parts)
    BertTokenizerFast(vocab_file=str(Path(minilm.__file__).with_name("vocab.txt"))).save_pretrained(parts)
    folder = tmp_path_factory.mktemp("model")
    SentenceTransformer(modules=[Transformer(str(parts)), Pooling(16)], device="cpu").save(str(folder))
    return folder


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_sentence_transformers_model_is_named_by_its_path(folder, tiny_sentence_model, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    columns, _ = table()
    write("notes.csv", columns)
    hidegl(f"label notes.csv --labels topic --text note --embedder {tiny_sentence_model} --model notes.hidegl")
    assert f"240 texts by {tiny_sentence_model}" in " ".join(capsys.readouterr().err.split())
    write("new.csv", {"note": ["a violin and a choir", "soup with bread"]})
    hidegl("predict notes.hidegl new.csv", 1)
    assert "if you trust it, name it again as the embedder" in capsys.readouterr().err  # a folder may hold code
    hidegl(f"predict notes.hidegl new.csv --embedder {tiny_sentence_model}")
    assert len(read("new.predicted.csv")) == 2
    (tiny_sentence_model / "modules.json").write_text("[]")
    assert run(["predict", "notes.hidegl", "new.csv", "-f", "--embedder", str(tiny_sentence_model)]) == 1
    assert "the embedder of notes.hidegl cannot be used" in capsys.readouterr().err

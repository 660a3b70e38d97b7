"""Files of other tools: read, labelled, written, and read again. Each was written here after the documentation of its
format.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hidegl as package
from commands import hidegl, refused
from hidegl.basics.errors import OperationError, UsageError
from hidegl.files.exchange.json_records import JsonRecords
from hidegl.files.opening import open_table

MONEY = ("the fee was charged twice", "give my money back", "refund this fee please", "money back for the fee")
CARDS = ("my card is lost", "where is the new card", "the card was stolen", "a card does not arrive")
TEXTS = [f"{(MONEY, CARDS)[i % 2][i // 2 % 4]}, case {i}" for i in range(60)]
TRUTH = ["refund" if i % 2 == 0 else "card" for i in range(60)]
KNOWN = range(12)
"""The rows whose labels people gave."""

OPTIONS = "--embedder words --effort quick --no-cache"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_json(path, value):
    Path(path).write_text(json.dumps(value))


def write_lines(path, records):
    Path(path).write_text("".join(f"{json.dumps(record)}\n" for record in records))


def read_json(path):
    return json.loads(Path(path).read_text())


def read_lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def choice(label, question="topic"):
    """One entry of `result`, as Label Studio's documentation of its export has it."""
    value = {"choices": [label]}
    return {"id": "x1", "from_name": question, "to_name": "q", "type": "choices", "value": value, "origin": "manual"}


def annotation(label, by=7, **others):
    return {"id": 4, "completed_by": by, "result": [choice(label)], "was_cancelled": False, "lead_time": 2.5, **others}


def tasks(labels):
    """An export of Label Studio, with fields that hidegl has no use for."""
    return [
        {
            "id": 100 + i,
            "data": {"question": text, "channel": "mail" if i % 3 else "chat"},
            "annotations": [annotation(labels[i])] if labels.get(i) else [],
            "predictions": [],
            "meta": {"nested": [1, {"deep": None}], "number": 1.50},
            "project": 3,
            "created_at": "2024-03-09T21:52:49.513742Z",
        }
        for i, text in enumerate(TEXTS)
    ]


GIVEN = {i: TRUTH[i] for i in KNOWN}


def doccano_records(labels):
    return [
        {"id": 5 + i, "text": text, "label": [labels[i]] if labels.get(i) else [], "Comments": ["seen"], "team": i % 4}
        for i, text in enumerate(TEXTS)
    ]


def argilla_records(labels):
    """What `dataset.records.to_json` writes."""
    return [
        {
            "id": f"record-{i}",
            "fields": {"question": text},
            "metadata": {"channel": "mail"},
            "suggestions": {},
            "responses": {"topic": [{"value": labels[i], "user_id": "u-1"}]} if labels.get(i) else {},
            "vectors": {},
            "_server_id": f"s-{i}",
        }
        for i, text in enumerate(TEXTS)
    ]


def prodigy_records(labels):
    """What `prodigy db-out` prints."""
    return [
        {"text": text, "meta": {"source": "web"}, "_input_hash": i, "_task_hash": -i, "_view_id": "classification"}
        | ({"label": labels[i], "answer": "accept", "_annotator_id": "ann"} if labels.get(i) else {})
        for i, text in enumerate(TEXTS)
    ]


def spacy_records(labels):
    return [
        {"text": text, "cats": {name: float(labels.get(i) == name) for name in ("refund", "card")}, "meta": {"n": i}}
        for i, text in enumerate(TEXTS)
    ]


RECORDS = {
    "label-studio": (tasks, "export.json", write_json, read_json),
    "doccano": (doccano_records, "export.jsonl", write_lines, read_lines),
    "argilla": (argilla_records, "export.json", write_json, read_json),
    "prodigy": (prodigy_records, "export.jsonl", write_lines, read_lines),
    "spacy": (spacy_records, "export.jsonl", write_lines, read_lines),
}

LABEL_FIELDS = {
    "label-studio": ("annotations", "predictions"),
    "doccano": ("label", "hidegl_label", "hidegl_confidence"),
    "argilla": ("suggestions", "responses"),
    "prodigy": ("label", "answer", "score", "accept"),
    "spacy": ("cats", "hidegl_label", "hidegl_confidence"),
}


def proposed(name, record):
    """The label in a record that hidegl wrote."""
    match name:
        case "label-studio":
            return record["predictions"][0]["result"][0]["value"]["choices"][0]
        case "doccano":
            return record["label"][0]
        case "argilla":
            return record["suggestions"]["topic"]["value"]
        case "prodigy":
            return record["label"]
        case "spacy":
            return max(record["cats"], key=record["cats"].get)


@pytest.mark.parametrize("name", RECORDS)
def test_records_come_back_with_labels_and_all_their_other_fields(name):
    make, path, write, read = RECORDS[name]
    before = make(GIVEN)
    write(path, before)
    hidegl(f"label {path} {OPTIONS}")  # the output has the format of the data
    after = read(Path(path).with_stem("export.labelled"))
    assert len(after) == len(before)
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if i in KNOWN:
            assert new == old
        rest = {key: value for key, value in new.items() if key not in LABEL_FIELDS[name]}
        assert rest == {key: value for key, value in old.items() if key not in LABEL_FIELDS[name]}
    right = [proposed(name, new) == TRUTH[i] for i, new in enumerate(after) if i not in KNOWN]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize("name", RECORDS)
def test_what_hidegl_proposed_does_not_come_back_as_labels_of_people(name, capfd):
    make, path, write, _ = RECORDS[name]
    write(path, make(GIVEN))
    hidegl(f"label {path} {OPTIONS}")
    again = str(Path(path).with_stem("export.labelled"))
    assert package.read(again, embedder="words", cache=False).labels.n_labels == len(KNOWN)


@pytest.mark.parametrize("name", RECORDS)
def test_a_table_becomes_records_whose_answers_come_back(name, capfd):
    """People correct what was proposed, in any order, and some rows are gone."""
    _, path, write, read = RECORDS[name]
    rows = [f"{text},{'mail' if i % 3 else 'chat'},{GIVEN.get(i, '')}" for i, text in enumerate(TEXTS)]
    quoted = ["{},{},{}".format(f'"{",".join(row.split(",")[:2])}"', *row.split(",")[2:]) for row in rows]
    Path("tickets.csv").write_text("\n".join(["question,channel,topic", *quoted]))
    hidegl(f"label tickets.csv --labels topic -o {path} --format {name} {OPTIONS}")
    records = read(path)
    assert len(records) == 60
    answered = answered_in_the_tool(name, records[::-1][:20])  # rows 59 to 40, in the other order
    write("answers" + Path(path).suffix, answered)
    capfd.readouterr()
    hidegl(f"label tickets.csv --labels answers{Path(path).suffix} -o out.csv --json {OPTIONS}")
    facts = json.loads(capfd.readouterr().out)
    assert facts["labels"] == len(KNOWN) + 20  # those of the column, which the records remember, and the answers
    out = open_table(Path("out.csv"))
    assert out.column("label").to_pylist()[40:] == ["card"] * 20  # every answer is the same: people decide
    assert out.column("given").to_pylist()[40:] == [True] * 20


def answered_in_the_tool(name, records):
    """The records as the tool exports them when a person has said "card" to each, and rejected what was proposed."""
    for record in records:
        if name == "label-studio":
            record["annotations"] = [{"completed_by": 1, "result": [choice("card", "label")], "was_cancelled": False}]
        elif name == "doccano":
            record["label"], record["hidegl_label"] = ["card"], "something else"
        elif name == "argilla":
            record["responses"] = {"label": [{"value": "card", "user_id": "u-1"}]}
        elif name == "prodigy":
            record |= {"label": "card", "answer": "accept"}
        else:
            record["cats"], record["hidegl_label"] = {"card": 1.0, "refund": 0.0}, "refund"
    return records


def test_label_studio_gets_predictions_with_a_score_under_the_names_of_the_project():
    write_json("export.json", tasks(GIVEN))
    hidegl(f"label export.json -o predictions.json --format label-studio {OPTIONS}")
    after = read_json("predictions.json")
    prediction = after[30]["predictions"][0]
    assert prediction["model_version"] == f"hidegl {package.__version__}"
    assert 0 < prediction["score"] <= 1
    assert {key: prediction["result"][0][key] for key in ("from_name", "to_name", "type")} == {
        "from_name": "topic",
        "to_name": "q",
        "type": "choices",
    }
    assert after[0]["predictions"] == []  # somebody answered


def test_predictions_of_other_models_stay_and_ours_are_replaced():
    before = tasks(GIVEN)
    before[30]["predictions"] = [{"model_version": "gpt-9", "score": 0.4, "result": [choice("refund")]}]
    write_json("export.json", before)
    hidegl(f"label export.json -o once.json {OPTIONS}")
    hidegl(f"label once.json -o twice.json {OPTIONS}")
    versions = [one["model_version"] for one in read_json("twice.json")[30]["predictions"]]
    assert versions == ["gpt-9", f"hidegl {package.__version__}"]


def test_predictions_of_another_model_are_a_weak_source():
    before = tasks(GIVEN)
    for i, task in enumerate(before):
        task["predictions"] = [{"model_version": "gpt-9", "result": [choice(TRUTH[i])]}]
    write_json("export.json", before)
    result = package.label("export.json", weak={"llm": "gpt-9"}, embedder="words", effort="quick", cache=False)
    assert [source.name for source in result.model.sources_] == ["llm"]
    assert result.model.sources_[0].n_rows == 60


def test_answers_of_several_people_are_those_of_annotators(capfd):
    before = tasks(GIVEN)
    before[3]["annotations"].append(annotation("refund", {"id": 9, "email": "b@example.org"}))
    before[4]["annotations"].append(annotation("refund", {"id": 9, "email": "b@example.org"}))
    write_json("export.json", before)
    task = package.read("export.json", embedder="words", cache=False)
    assert set(task.labels.disputed) == {"7", "b@example.org"}
    assert [note.text for note in task.notes if "different labels" in note.text] == [
        "topic: 1 row has different labels by 7, b@example.org; how often each is right decides"
    ]


def test_cancelled_annotations_are_counted_and_not_used():
    before = tasks(GIVEN)
    before[40]["annotations"] = [annotation("card", was_cancelled=True)]
    before[41]["annotations"] = [{"result": [choice("x") | {"type": "labels", "value": {"start": 0, "labels": ["x"]}}]}]
    write_json("export.json", before)
    task = package.read("export.json", embedder="words", cache=False)
    assert task.labels.n_labels == len(KNOWN)
    notes = [note.text for note in task.notes if "not used" in note.text]
    assert notes == [
        "not used as labels: 1 annotations that were cancelled",
        "not used as labels: 1 answers of the type 'labels', which are no classes",
    ]


def test_ratings_and_taxonomies_are_labels_too():
    before = tasks({})
    for i in KNOWN:
        result = {"from_name": "stars", "to_name": "q", "type": "rating", "value": {"rating": 1 + i % 2}}
        before[i]["annotations"] = [{"completed_by": 1, "result": [result]}]
    write_json("stars.json", before)
    hidegl(f"label stars.json -o out.json {OPTIONS}")
    assert read_json("out.json")[50]["predictions"][0]["result"][0]["value"] == {"rating": 1}
    for i in KNOWN:
        result = {"from_name": "kind", "to_name": "q", "type": "taxonomy", "value": {"taxonomy": [["Money", TRUTH[i]]]}}
        before[i]["annotations"] = [{"completed_by": 1, "result": [result]}]
    write_json("kinds.json", before)
    hidegl(f"label kinds.json -o out2.json {OPTIONS}")
    assert read_json("out2.json")[50]["predictions"][0]["result"][0]["value"] == {"taxonomy": [["Money", "refund"]]}


def test_of_several_questions_the_user_names_one(capfd):
    before = tasks(GIVEN)
    for i in KNOWN:
        before[i]["annotations"][0]["result"].append(choice("polite" if i < 6 else "rude", "tone"))
    write_json("export.json", before)
    hidegl(f"label export.json {OPTIONS}", 2)
    assert capfd.readouterr().err == "hidegl: the data has answers to topic, tone: name one with --labels\n"
    hidegl(f"label export.json --labels tone -o out.json {OPTIONS}")
    assert read_json("out.json")[30]["predictions"][0]["result"][0]["from_name"] == "tone"


def test_the_short_export_of_label_studio_has_one_record_per_annotation():
    flat = [
        {
            "question": text,
            "id": i,
            **({"topic": GIVEN[i]} if i in GIVEN else {}),
            "annotator": 1,
            "annotation_id": 7 + i,
            "created_at": "2024-01-01",
            "updated_at": "2024-01-01",
            "lead_time": 1.5,
        }
        for i, text in enumerate(TEXTS)
    ]
    flat.append(flat[0] | {"annotator": 2, "topic": "card"})
    write_json("min.json", flat)
    task = package.read("min.json", embedder="words", cache=False)
    assert task.n_rows == 60
    assert task.labels.n_labels == len(KNOWN) - 1  # two people disagree about the first
    assert task.table.names == ["question", "id"]


def test_an_export_that_lacks_our_marks_is_matched_by_content(capfd):
    """The user imported a table into the tool; it gave the rows ids of its own."""
    Path("tickets.csv").write_text("\n".join(["question", *(f'"{text}"' for text in TEXTS)]))
    write_json("export.json", tasks(GIVEN)[::-1])
    task = package.read("tickets.csv", "export.json", embedder="words", cache=False)
    assert [task.y[i] for i in KNOWN] == [TRUTH[i] for i in KNOWN]
    other = tasks(GIVEN)
    for one in other:
        one["data"]["question"] += "!"
    write_json("other.json", other)
    with refused("not-in-data"):
        package.read("tickets.csv", "other.json", embedder="words", cache=False)


def test_several_lines_of_prodigy_about_one_input_are_one_row():
    lines = prodigy_records(GIVEN)
    lines += [lines[0] | {"label": "card", "_annotator_id": "other"}, lines[20] | {"label": "card", "answer": "reject"}]
    write_lines("export.jsonl", lines)
    task = package.read("export.jsonl", embedder="words", cache=False)
    assert task.n_rows == 60
    assert set(task.labels.disputed) == {"ann", "other"}
    assert "not used as labels: 1 answers 'reject'" in [note.text for note in task.notes]
    hidegl(f"label export.jsonl -o out.jsonl {OPTIONS}")
    assert len(read_lines("out.jsonl")) == 62  # every line comes back


def test_prodigy_choices_and_spacy_pairs():
    options = [{"id": "refund", "text": "Refund"}, {"id": "card", "text": "Card"}]
    lines = [
        {"text": text, "options": options, "_input_hash": i}
        | ({"accept": [GIVEN[i]], "answer": "accept"} if i in GIVEN else {"accept": []})
        for i, text in enumerate(TEXTS)
    ]
    write_lines("choices.jsonl", lines)
    hidegl(f"label choices.jsonl -o out.jsonl {OPTIONS}")
    assert read_lines("out.jsonl")[31]["accept"] == ["card"]
    pairs = [[one["text"], {"cats": one["cats"]}] for one in spacy_records(GIVEN)]
    write_json("pairs.json", pairs)
    write_lines("pairs.jsonl", pairs)
    for name, read in (("pairs.json", read_json), ("pairs.jsonl", read_lines)):
        hidegl(f"label {name} -o out_{name} {OPTIONS}")
        text, rest = read(f"out_{name}")[31]
        assert (text, rest["cats"]) == (TEXTS[31], {"refund": 0.0, "card": 1.0})


def test_argilla_vectors_are_learned_from_and_models_are_weak_sources():
    rng = np.random.default_rng(0)
    records = argilla_records(GIVEN)
    for i, record in enumerate(records):
        record["vectors"] = {"v": (rng.normal(size=4) + 4 * (i % 2)).round(3).tolist()}
        record["suggestions"] = {"topic": {"value": TRUTH[i], "score": 0.7, "agent": "gpt-9"}}
    write_json("export.json", records)
    task = package.read("export.json", weak={"llm": "gpt-9"})
    assert str(task.columns) == "the vectors in 'v'"
    assert task.labels.n_labels == len(KNOWN)
    assert task.weak.counts() == ["60 by 'llm'"]


def test_blank_where_a_label_is_not_accepted_but_predictions_for_all():
    write_lines("export.jsonl", doccano_records(GIVEN))
    hidegl(f"label export.jsonl --accept 1 -o out.jsonl {OPTIONS}")
    assert all(record["label"] == [] for record in read_lines("out.jsonl")[12:])
    assert all(record["hidegl_label"] for record in read_lines("out.jsonl")[12:])
    hidegl(f"label export.jsonl --accept 1 -o out.json --format label-studio --force {OPTIONS}")
    assert all(len(task["predictions"]) == 1 for task in read_json("out.json")[12:])


def test_records_go_to_tables_and_tables_of_json_are_read():
    write_json("export.json", tasks(GIVEN))
    hidegl(f"label export.json -o out.csv {OPTIONS}")
    assert open_table(Path("out.csv")).names == [
        *("id", "question", "channel", "label", "confidence", "given", "unseen"),
    ]
    write_json("flat.json", [{"x": i, "y": -i, "kind": TRUTH[i]} for i in range(10)])
    table = open_table(Path("flat.json"))
    assert table.names == ["x", "y", "kind"]
    assert table.column("x").to_pylist() == list(range(10))


def test_several_exports_add_up():
    write_lines("a.jsonl", doccano_records(GIVEN)[:30])
    write_lines("b.jsonl", doccano_records({31: "card"})[30:])
    task = package.read(["a.jsonl", "b.jsonl"], embedder="words", cache=False)
    assert (task.n_rows, task.labels.n_labels) == (60, len(KNOWN) + 1)
    write_json("c.json", tasks(GIVEN))
    with refused("mixed-types"):
        package.read(["a.jsonl", "c.json"])


# Data sets on disk


def write_dataset(folder, columns, names=None):
    """A folder as the documentation of `save_to_disk` describes it."""
    Path(folder).mkdir()
    table = pa.table(columns)
    half = len(table) // 2
    files = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    for file, part in zip(files, (table.slice(0, half), table.slice(half)), strict=True):
        with pa.OSFile(f"{folder}/{file}", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(part)
    write_json(f"{folder}/state.json", {"_data_files": [{"filename": file} for file in files], "_split": None})
    feature = {"names": names, "_type": "ClassLabel"} if names else {"dtype": "string", "_type": "Value"}
    write_json(f"{folder}/dataset_info.json", {"features": {"label": feature}})


def test_a_data_set_on_disk_is_read_with_the_names_of_its_classes():
    codes = [TRUTH[i] == "card" if i in KNOWN else -1 for i in range(60)]
    write_dataset("ds", {"text": TEXTS, "label": pa.array([int(c) for c in codes])}, ["refund", "card"])
    task = package.read("ds", embedder="words", cache=False)
    assert [task.y[i] for i in KNOWN] == [TRUTH[i] for i in KNOWN]
    assert task.labels.n_labels == len(KNOWN)


def test_a_data_set_is_written_whole_and_read_again():
    write_dataset("ds", {"text": TEXTS, "kind": [GIVEN.get(i) for i in range(60)]})
    hidegl(f"label ds --labels kind -o out --format datasets {OPTIONS}")
    table = open_table(Path("out"))
    assert table.names == ["text", "kind", "label", "confidence", "given", "unseen"]
    datasets = pytest.importorskip("datasets", reason="the package datasets is an extra")
    assert datasets.load_from_disk("out")[31]["label"] == "card"
    hidegl(f"label ds --labels kind -o out --format datasets {OPTIONS}", 2)
    hidegl(f"label ds --labels kind -o out --format datasets --force {OPTIONS}")
    assert sorted(path.name for path in Path().iterdir()) == ["ds", "out"]
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    hidegl(f"label ds --labels kind -o mine --format datasets --force {OPTIONS}", 2)
    assert Path("mine/thesis.txt").exists()


def test_a_damaged_data_set_is_refused():
    write_dataset("ds", {"text": TEXTS, "label": pa.array([9] * 60)}, ["refund", "card"])
    with pytest.raises(OperationError, match=r"^ds: label has the class 9, but dataset_info.json names 2 classes$"):
        open_table(Path("ds"))
    write_json("ds/state.json", {"_data_files": [{"filename": "../../etc/passwd"}]})
    with pytest.raises(OperationError, match="must name the files of the data set, in its own folder"):
        open_table(Path("ds"))
    Path("splits").mkdir()
    write_json("splits/dataset_dict.json", {"splits": ["train", "test"]})
    with refused("ambiguous"):
        open_table(Path("splits"))


def test_names_of_the_hub_go_to_the_package_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"^hf://owner/name needs the package datasets: pip install 'hidegl\[hf\]'$"):
        package.read("hf://owner/name")
    monkeypatch.undo()
    datasets = pytest.importorskip("datasets", reason="the package datasets is an extra")
    asked = []

    def load(name, split=None):
        asked.append((name, split))
        data = datasets.Dataset.from_dict({"text": TEXTS, "label": [GIVEN.get(i) for i in range(60)]})
        return data if split else datasets.DatasetDict(train=data)

    monkeypatch.setattr(datasets, "load_dataset", load)
    task = package.read("hf://owner/name:train", embedder="words", cache=False)
    assert (task.n_rows, task.labels.n_labels, asked) == (60, len(KNOWN), [("owner/name", "train")])
    with refused("ambiguous"):
        package.read("hf://owner/name")


# Probabilities


def write_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 4 * (np.arange(60) % 2)[:, None]
    lines = [",".join(f"{x:.4f}" for x in row) + f",{GIVEN.get(i, '')}" for i, row in enumerate(X)]
    Path("numbers.csv").write_text("\n".join(["a,b,c,topic", *lines]))


def test_probabilities_of_all_classes_are_written_and_are_a_weak_source(capfd):
    write_numbers()
    hidegl("label numbers.csv --labels topic -o probs.npy --format pred-probs --effort quick")
    P, classes = np.load("probs.npy"), read_json("probs.classes.json")
    assert (P.shape, classes) == ((60, 2), ["card", "refund"])
    assert np.allclose(P.sum(axis=1), 1, atol=1e-5)
    assert [classes[code] for code in P.argmax(axis=1)] == TRUTH
    hidegl("label numbers.csv --labels topic --weak probs.npy:net --json --effort quick")
    out = capfd.readouterr().out
    assert json.loads(out[out.index('{"rows"') :])["sources"][0]["name"] == "net"
    Path("probs.classes.json").write_text('["card"]')
    hidegl("label numbers.csv --labels topic --weak probs.npy --effort quick -f", 2)
    assert capfd.readouterr().err.splitlines()[-1] == (
        "hidegl: probs.classes.json must name each of the 2 columns of probs.npy once, got 1 names"
    )


# Excel, standard output


def test_excel_gets_texts_that_are_no_formulas_and_numbers_as_they_are():
    openpyxl = pytest.importorskip("openpyxl")
    write_numbers()
    text = Path("numbers.csv").read_text().splitlines()
    lines = [text[0] + ",note,day", *(f"{line},=1+1,2024-01-{1 + i % 28:02}" for i, line in enumerate(text[1:]))]
    Path("numbers.csv").write_text("\n".join(lines))
    hidegl("label numbers.csv --labels topic -o out.xlsx --effort quick")
    sheet = openpyxl.load_workbook("out.xlsx").active
    names = [cell.value for cell in sheet[1]]
    assert names[:6] == ["a", "b", "c", "topic", "note", "day"]
    cell = sheet.cell(2, names.index("note") + 1)
    assert (cell.value, cell.data_type) == ("=1+1", "s")
    assert sheet.cell(2, names.index("day") + 1).value.day == 1
    assert sheet.cell(2, names.index("given") + 1).value is True
    assert sheet.max_row == 61
    hidegl("label out.xlsx --effort quick")  # an earlier result, whose given labels count
    assert open_table(Path("out.labelled.xlsx")).n_rows == 60


def test_a_cell_that_excel_has_no_room_for_is_refused(capfd):
    write_numbers()
    text = Path("numbers.csv").read_text().splitlines()
    Path("numbers.csv").write_text("\n".join([text[0] + ",note", *(f"{line},{'x' * 40_000}" for line in text[1:])]))
    hidegl("label numbers.csv --labels topic --columns a,b,c -o out.xlsx --effort quick", 1)
    assert capfd.readouterr().err.splitlines()[-1] == (
        "hidegl: a cell of Excel has room for 32,767 characters, got 40,000: write .csv"
    )
    assert not Path("out.xlsx").exists()


def test_standard_output_has_the_labels_and_nothing_else(capfd):
    write_numbers()
    hidegl("label numbers.csv --labels topic -o - --effort quick")
    out = capfd.readouterr().out.splitlines()
    assert out[0] == "a,b,c,topic,label,confidence,given,unseen"
    assert len(out) == 61
    write_lines("export.jsonl", doccano_records(GIVEN))
    hidegl(f"label export.jsonl -o - --format doccano {OPTIONS}")
    assert len([json.loads(line) for line in capfd.readouterr().out.splitlines()]) == 60
    hidegl("suggest numbers.csv -n 3 -o -")
    assert len(capfd.readouterr().out.splitlines()) == 4


# Hostile files

HOSTILE = {
    "deep": (
        '[{"data": {"text": ' + "[" * 100_000 + "]" * 100_000 + '}, "annotations": []}]',
        "nested more than 200 deep",
    ),
    "cut": ('[{"data": {"text": "a"}, "annotations": []}, {"data": {"te', "is not JSON: Unterminated string in line 1"),
    "nan": ('[{"data": {"text": "a", "x": NaN}, "annotations": []}]', "NaN is no number"),
    "huge": ('[{"data": {"text": "a", "x": 1e999}, "annotations": []}]', "the number 1e999 is too large"),
    "digits": ('[{"data": {"x": ' + "9" * 5000 + '}, "annotations": []}]', "a whole number has too many digits"),
    "half": ('[{"data": {"text": "\\ud800"}, "annotations": []}]', "contains half a character"),
    "odd": (
        "[" + '{"data": {"text": "a"}, "annotations": []},' * 30 + "17]",
        "record 31, is no record of Label Studio",
    ),
    "rest": ('[{"data": {"text": "a"}, "annotations": []}] x', "something follows the end of the list"),
    "numbers": ("[1, 2]", "record 1, must be an object with fields, got 1"),
    "empty": ("[]", "has no rows"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_ends_in_one_line(name, capfd):
    text, said = HOSTILE[name]
    Path("bad.json").write_text(text)
    assert hidegl_code("label bad.json") in (1, 2)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert lines[0].startswith("hidegl: bad.json")


def hidegl_code(command):
    import shlex

    from hidegl.cli.running import run

    return run(shlex.split(command))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["A", "B"], "record 1, has 2 labels, 'A' and 'B': hidegl takes one for each row"),
        ([{"x": 1}], "record 1, has {'x': 1} as a label: hidegl takes one name for each row"),
        ([["A"], "B"], "record 1, has ['A'] as a label: hidegl takes one name for each row"),
    ],
)
def test_a_label_that_is_a_list_is_refused(values, said):
    write_lines("bad.jsonl", [{"text": "a", "label": values}, {"text": "b", "label": []}])
    with pytest.raises(UsageError) as error:
        open_table(Path("bad.jsonl"))
    assert str(error.value) == f"bad.jsonl, {said}"


def test_files_of_wrong_types_are_no_answers():
    odd = [{"data": {"text": "a"}, "annotations": {"result": 7}, "predictions": "x"}] * 3
    odd += [{"data": {"text": "b"}, "annotations": [{"result": [{"type": ["x"], "value": 3}, 5]}, None]}]
    write_json("odd.json", odd)
    assert dict(open_table(Path("odd.json")).answers) == {}


def test_records_are_kept_as_they_are_written():
    Path("a.json").write_text('[ {"a": 1.50, "b": [ ] } ,\n{"a": 2}]')
    records = JsonRecords(Path("a.json"))
    assert list(records.read()) == [{"a": 1.5, "b": []}, {"a": 2}]
    assert records.texts == ['{"a": 1.50, "b": [ ] }', '{"a": 2}']


def test_plain_json_lines_are_no_records():
    write_lines("plain.jsonl", [{"text": text, "label": GIVEN.get(i)} for i, text in enumerate(TEXTS)])
    assert not open_table(Path("plain.jsonl")).answers
    hidegl(f"label plain.jsonl {OPTIONS}")
    assert open_table(Path("plain.labelled.jsonl")).n_rows == 60


def test_studio_takes_an_export_with_its_labels():
    from studio import open_session

    write_json("export.json", tasks(GIVEN))
    session = open_session(Path("export.json"), embedder="words")
    try:
        assert session.store.path.name == "export.json.labels.db"
        assert session.names() == GIVEN
    finally:
        session.stop()

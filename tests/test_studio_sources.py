"""Studio with weak sources and names of classes: what cards show of them."""

import csv

import pytest

from studio import open_session, wait_for, write_texts


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = write_texts(tmp_path / "t.csv")
    with (tmp_path / "llm.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["row", "label"])
        lines.writerows([row, truth[row]] for row in range(0, 90, 2))
    return truth


def test_cards_show_what_sources_say_and_propose_it_first(texts, tmp_path):
    session = open_session(tmp_path / "t.csv", embedder="words", weak=["llm.csv:gpt"])
    session.start()
    try:
        wait_for(lambda: session.learner.now.queue)
        numbers = {one["number"]: one["name"] for one in session.state()["classes"]}
        assert sorted(numbers.values()) == ["car", "fruit", "sea"]
        card = session.rows.card(4)
        assert card["why"].endswith(f"; gpt: {texts[4]}")
        assert numbers[card["likely"][0][0]] == texts[4]
        silent = session.rows.card(5)
        assert "gpt" not in silent["why"]
        assert silent["likely"] == []
        assert session.state()["n_labels"] == 0
    finally:
        session.stop()


def test_names_of_classes_are_there_from_the_start(texts, tmp_path):
    session = open_session(tmp_path / "t.csv", embedder="words", classes="fruit, car, sea, apple tree")
    session.start()
    try:
        wait_for(lambda: session.learner.now.queue)
        assert {one["name"] for one in session.state()["classes"]} == {"fruit", "car", "sea", "apple tree"}
        session.label([0], session.state()["classes"][0]["number"], "card")
        assert session.state()["n_labels"] == 1
    finally:
        session.stop()
    again = open_session(tmp_path / "t.csv", embedder="words", classes="fruit, car, sea, apple tree")
    try:
        assert len(again.state()["classes"]) == 4
    finally:
        again.stop()

"""The pictures and the recording of Studio in docs/. Needs HIDEGL_DATA and Pillow."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from sklearn.datasets import load_digits

from harness import DOCS
from hidegl.datasets.registry import FOLDER_VARIABLE
from studio import studio, write_digits

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
SETTLE = 1200
COLOURS = 128


def opened(browser, address: str, width: int, height: int, **options) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, **options)
    page.goto(address)
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    page.wait_for_selector("article.card", timeout=120_000)
    return page


def ready(page: Page) -> None:
    """All is learned, and the panel says so."""
    page.wait_for_selector("#phase:not(.busy)", state="attached", timeout=600_000)
    page.wait_for_selector("html[data-colours]:not([data-colours=''])")
    page.wait_for_timeout(4 * SETTLE)


def picture(page: Page, name: str, **options) -> None:
    """In few colours: what is drawn has no more."""
    page.wait_for_timeout(SETTLE)
    shot = Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")
    shot.quantize(256, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


def questions(browser, folder: Path) -> None:
    """77 classes of questions to a bank, five labels per class."""
    with np.load(Path(os.environ[FOLDER_VARIABLE]) / "banking77.npz") as archive:
        X, texts = archive["X"].astype(np.float32), archive["text"]
        names = [str(name).replace("_", " ") for name in archive["classes"][archive["y"]]]
    np.savez(folder / "questions.npz", X=X, text=texts)
    rng, given = np.random.default_rng(0), {}
    for row in rng.permutation(len(names)).tolist():
        if list(given.values()).count(names[row]) < 5:
            given[row] = names[row]
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["row", "label"], *given.items()])
    with studio(folder / "questions.npz", "--labels", str(folder / "labels.csv")) as (_, address):
        page = opened(browser, address, 1360, 860)
        ready(page)
        for _ in range(3):
            page.keyboard.press("Enter")
            page.wait_for_timeout(3 * SETTLE)
        picture(page, "studio_desktop.png")
        picture(opened(browser, address, 1360, 860, color_scheme="dark"), "studio_dark.png")


def home(browser, folder: Path) -> None:
    """Six kinds of question, in a window so small that everything can be read on the first page of the site."""
    names = {"ABBR": "abbreviation", "DESC": "description", "ENTY": "thing", "HUM": "person", "LOC": "place"}
    with np.load(Path(os.environ[FOLDER_VARIABLE]) / "trec6.npz") as archive:
        texts = [str(text).removesuffix(" ?") + "?" for text in archive["text"]]
        kinds = [names.get(str(name), "number") for name in archive["classes"][archive["y"]]]
    given = dict.fromkeys(names.values(), 0) | {"number": 0}
    rows = []
    for row in np.random.default_rng(0).permutation(len(texts))[:3000].tolist():
        given[kinds[row]] += 1
        rows.append([texts[row], kinds[row] if given[kinds[row]] <= 25 else ""])
    with (folder / "questions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["question", "label"], *rows])
    with studio(folder / "questions.csv", "--text", "question", "--labels", "label") as (_, address):
        page = opened(browser, address, 1040, 640, device_scale_factor=2)
        ready(page)
        picture(page, "studio_home.png")


def digits(browser, folder: Path) -> None:
    """From no label to a coloured map, recorded; then the same on a phone."""
    write_digits(folder / "digits.csv")
    truth = load_digits().target.astype(str)
    with studio(folder / "digits.csv") as (_, address):
        page = opened(browser, address, 1120, 700)
        page.wait_for_selector("#phase:not(.busy)", state="attached", timeout=600_000)
        frames = [frame(page)]
        known: set[str] = set()
        for step in range(40):
            row = int(page.get_attribute("article.card", "data-row"))
            if truth[row] in known:
                page.keyboard.press(truth[row])
            else:
                if known:  # before there is a class, its field has the focus
                    page.keyboard.press("n")
                page.keyboard.type(truth[row])
                page.keyboard.press("Enter")
                known.add(truth[row])
            page.wait_for_selector(f"html[data-labels='{step + 1}']")
            page.wait_for_timeout(700)
            frames.append(frame(page))
        ready(page)
        frames += [frame(page)] * 8
        first, *rest = (one.resize((960, 600), Image.Resampling.LANCZOS) for one in frames)
        first.save(DOCS / "studio.webp", save_all=True, append_images=rest, duration=420, loop=0, quality=70, method=6)
        # so high that all fits: for a picture of a full page, chromium changes the size, and forgets that it is touched
        phone = opened(browser, address, 390, 1480, device_scale_factor=2, has_touch=True, is_mobile=True)
        picture(phone, "studio_phone.png")


def frame(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def main(*parts: str) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for part in (home, digits, questions):
            if not parts or part.__name__ in parts:
                part(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

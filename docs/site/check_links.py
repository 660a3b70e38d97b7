"""Check the built site: every link leads to a file and a place in it, and no page loads anything from elsewhere.

python docs/site/check_links.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
NOT_LOADED = {"canonical", "search", "next", "prev", "index", "author", "copyright"}


class Page(HTMLParser):
    """The links of a page, the places that can be linked to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and found.get("rel") not in NOT_LOADED:
            self.loaded.append(found.get(LOADED[tag], ""))


def pages_of(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def mistakes(site: Path) -> list[str]:
    pages = {path.resolve(): Page(path) for path in pages_of(site)}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name} loads {url}" for url in page.loaded if urlsplit(url).netloc]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name}: there is no {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{name}: there is no place {link}")
    for path in sorted(site.rglob("*.css")):
        if "url(http" in path.read_text(encoding="utf-8").replace('"', "").replace("'", ""):
            found.append(f"{path.relative_to(site)} loads from elsewhere")
    return found


if __name__ == "__main__":
    wrong = mistakes(Path(sys.argv[1]))
    n_pages = len(pages_of(Path(sys.argv[1])))
    sys.stdout.write("\n".join([*wrong, f"{n_pages} pages, {len(wrong)} mistakes in links"]) + "\n")
    sys.exit(bool(wrong))

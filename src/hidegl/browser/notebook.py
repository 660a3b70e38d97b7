"""Studio from Python: `hidegl.studio(X, texts=…)` opens the page, and returns the labels when it is done."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidegl.basics.warnings import warn_user
from hidegl.spreading.labels import Labels

if TYPE_CHECKING:
    from hidegl.annotation.row_keys import RowKeys


def studio(
    X: Any,
    *,
    texts: Sequence[str] | None = None,
    labels: ArrayLike | None = None,
    views: dict[str, int] | None = None,
    path: str | os.PathLike[str] | None = None,
    effort: str = "default",
    random_state: int = 0,
    port: int = 0,
    open_browser: bool = True,
) -> NDArray[Any]:
    """Label rows in the browser, and return the labels: names, and None where there is none.

    It blocks until the user ends Studio on the page, or until an interruption, after which labels are still saved.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The rows to learn from, such as embeddings.
    texts : list of str, default=None
        What is shown of the rows. None: images, if rows look like pixels, or else the nearest labelled rows.
    labels : array of shape (n_rows,), default=None
        Labels to start with, as in `AutoHiDeGL.fit`.
    views : dict, default=None
        The views of rows in X, as in `AutoHiDeGL`.
    path : str or path, default=None
        The file for the labels, to go on with later. None: a temporary file.
    effort : {"quick", "default", "best"}, default="default"
        Of the model, as in `AutoHiDeGL`.
    random_state : int, default=0
        The seed.
    port : int, default=0
        The port of the page on this machine; 0 is any that is free.
    open_browser : bool, default=True
        Open the page: in a frame below the cell of a notebook, and in the browser otherwise. Its address is printed in
        any case. A notebook on another machine needs its port forwarded, under the same number.
    """
    try:
        from hidegl.annotation.label_store import LabelStore
        from hidegl.browser.row_contents import RowContents, table_of_texts
        from hidegl.browser.serving import serve
        from hidegl.browser.session import Session
    except ImportError as error:
        raise ImportError("Studio needs more packages: pip install 'hidegl[studio]'") from error
    X = X if hasattr(X, "tocsr") else np.asarray(X)
    if texts is not None and len(texts) != X.shape[0]:
        raise ValueError(f"texts must have one text for each of the {X.shape[0]} rows of X, got {len(texts)}")
    given = Labels.read(labels, X.shape[0])
    table = None if texts is None else table_of_texts(texts)
    contents = RowContents(table, X, texts=() if table is None else ("text",))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.labels.db" if path is None else Path(path)
        store = LabelStore(file, keys_of(X))
        names = given.classes[given.given].tolist()
        if store.changes is not None:
            warn_user(store.changes)
        changed = store.import_labels(dict(zip(given.rows.tolist(), map(str, names), strict=True)), "file")
        for name, new in changed.items():
            warn_user(f"the label {name!r} counts as {new!r} in Studio")
        session = Session("rows", store, contents, X, effort=effort, views=views, seed=random_state)
        framed = open_browser and in_notebook()
        tell = show_frame if framed else print_address
        serve(session, port=port, open_browser=open_browser and not framed, framed=framed, tell=tell)
        found = session.names()
    y = np.full(X.shape[0], None, dtype=object)
    y[list(found)] = list(found.values())
    return y


def keys_of(X: Any) -> RowKeys:
    """The keys of the rows of an array or a sparse matrix."""
    import pyarrow as pa

    from hidegl.annotation.row_keys import RowKeys
    from hidegl.files.tables import MemoryTable

    class ArrayKeys(RowKeys):
        @property
        def fingerprint(self) -> str:
            return fingerprint(X)

    if not hasattr(X, "tocsr"):
        return ArrayKeys(MemoryTable(pa.table({}), matrix=X), [None])
    rows = X.tocsr()
    starts = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    cells = [f"{rows.indices[a:b].tolist()} {rows.data[a:b].tolist()}" for a, b in starts]
    return ArrayKeys(MemoryTable(pa.table({"row": cells})), ["row"])


def fingerprint(X: Any) -> str:
    """A hash of the shape, and of a sample of rows at equal distances."""
    rows = np.unique(np.linspace(0, X.shape[0] - 1, min(200, X.shape[0])).astype(np.intp))
    some = X.tocsr()[rows].toarray() if hasattr(X, "tocsr") else X[rows]
    return hashlib.sha256(repr(X.shape).encode() + np.ascontiguousarray(some).tobytes()).hexdigest()


def in_notebook() -> bool:
    """Whether a cell of a notebook runs, whose output can be a page."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


FRAME = """
<iframe id="{name}" title="Studio" style="width: 100%; height: 760px; border: 1px solid #8886"></iframe>
<p style="font: 12px system-ui, sans-serif; opacity: 0.7">Labels are saved at every key. The cell ends with Finish.
<a href="{address}" target="_blank" rel="noopener">Open Studio in a tab</a>, also if nothing is shown above.</p>
<script>
(() => {{
  // the cookie belongs to the site of the notebook
  const host = location.hostname === "localhost" ? "localhost" : "127.0.0.1";
  document.getElementById("{name}").src = "{address}".replace("127.0.0.1", host);
}})();
</script>
"""


def framed_page(address: str) -> str:
    """HTML that shows Studio in a frame. The address has no signs that HTML or JavaScript would read otherwise."""
    return FRAME.format(name=f"studio-{secrets.token_hex(4)}", address=address)


def show_frame(address: str) -> None:
    """Show Studio below the cell, and print its address."""
    print_address(address)
    from IPython.display import HTML, display

    display(HTML(framed_page(address)))


def print_address(address: str) -> None:
    sys.stderr.write(f"Studio: {address}\n")
    sys.stderr.flush()

"""`python -m hidegl.paper …`, as `hidegl paper …`."""

from hidegl.paper.commands import app

if __name__ == "__main__":
    app()

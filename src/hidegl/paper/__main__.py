"""`python -m hidegl.paper …`: the same as `hidegl paper …`."""

from hidegl.paper.commands import app

if __name__ == "__main__":
    app()

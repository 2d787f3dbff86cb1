"""What numba's compilation cache cannot see: whether a callee in another file has changed."""

import hashlib
from functools import cache
from pathlib import Path

MODELS = Path(__file__).parents[1]


@cache
def sources_fingerprint(*folders: str, root: Path = MODELS) -> int:
    """A number that changes with any Python file below these folders of `root`.

    numba keys a cached function by its own file only, although it has compiled its callees' code
    and imported constants into it. A kernel that is made inside a function, with this number as a
    closure variable, carries it in its key, and so is compiled again when any of them changes. It
    names every folder that it has code or constants from, so that it need not be compiled again for
    a change elsewhere.

    Raises
    ------
    ValueError
        For a name that is no folder of `root`.
    """
    digest = hashlib.sha256()
    for folder in sorted(folders):
        if not (root / folder).is_dir():
            raise ValueError(f"{folder}: expected a folder of {root}")
        for path in sorted((root / folder).rglob("*.py")):
            for part in (path.relative_to(root).as_posix().encode(), path.read_bytes()):
                digest.update(len(part).to_bytes(8, "little") + part)
    return int.from_bytes(digest.digest()[:7], "little")

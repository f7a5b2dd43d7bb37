"""Base of the images of all examples: Debian, its Python, and TensorFlow, built once and cached.

    base = Base.build([Path("examples/dist-mnist/requirements.txt")])
    base.store     -> a containerd's folder that has the image IMAGE
    base.layers    -> its layers, for images above the base

The cache is ~/.cache/tfgen/images, with a digest of the inputs in the name. The build takes minutes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.e2e.images import debian, oci, python_packages
from tests.e2e.namespaces import Namespaces
from tests.e2e.servers.containerd import PAUSE, Containerd
from tests.support.tools import CACHE

FOLDER: Final = CACHE.parent / "images"

# The rendered pods call these programs of Docker's Python image on Debian: Python, test, sh.
_PACKAGES: Final = ("ca-certificates", "coreutils", "dash", "libstdc++6", "python3")
_HEADERS: Final = "usr/local/lib/python{}/dist-packages/tensorflow/include"  # a fifth of TensorFlow


@dataclass(frozen=True)
class Base:
    """The base.

    Attributes:
        store: the folder of a containerd that has ended, with the unpacked image.
        layers: the lowest first. The layers exist only in the store.
    """

    store: Path
    layers: tuple[oci.Layer, ...]

    @classmethod
    def build(cls, requirements: Iterable[Path]) -> Base:
        """Return the base with all of these requirements, from the cache or from a new build."""
        wanted = sorted({path.read_text(encoding="utf-8") for path in requirements})
        folder = FOLDER / f"base-{_digest(wanted)}"
        if not folder.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=FOLDER) as partial:
                _make(Path(partial), wanted)
                with suppress(OSError):  # another build was faster, and its result is equal
                    (Path(partial) / "made").rename(folder)
        layers = json.loads((folder / "layers.json").read_text(encoding="utf-8"))
        return cls(folder / "store", tuple(oci.Layer(**layer, path=None) for layer in layers))


def _digest(requirements: Iterable[str]) -> str:
    """Return the digest of the inputs of the base, except for the versions of the packages on the day of the build."""
    release = Path("/etc/os-release").read_text(encoding="utf-8")
    code = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in (debian, python_packages, oci)]
    own = Path(__file__).read_text(encoding="utf-8")
    return hashlib.sha256(json.dumps([release, *requirements, *code, own]).encode()).hexdigest()[:12]


def _make(folder: Path, requirements: Iterable[str]) -> None:
    """Write `folder`/made, which contains the store and the list of layers."""
    root, made = folder / "root", folder / "made"
    made.mkdir()
    debian.unpack(_PACKAGES, root)
    version = python_packages.python_of(root)
    for name in ("python", "python3"):  # as in Docker's Python image
        (root / python_packages.SCRIPTS / name).symlink_to("/usr/bin/python3")
    python_packages.compile_all(Path("usr/lib") / f"python{version}", root)
    lower = oci.write_layer(folder / "debian.tar", root)
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join(requirements), encoding="utf-8")
    python_packages.install(wanted, root)
    upper = oci.write_layer(folder / "python.tar", root, only="usr/local", leave_out=(_HEADERS.format(version),))
    layers = (lower, upper)
    pause = oci.Image(PAUSE, layers, {"Entrypoint": ["sleep", "infinity"], "Env": ["PATH=/usr/bin"]})
    with Namespaces() as machine, Containerd(folder / "containerd", machine, made / "store") as containerd:
        containerd.load([pause])
    descriptions = [{key: value for key, value in asdict(layer).items() if key != "path"} for layer in layers]
    (made / "layers.json").write_text(json.dumps(descriptions), encoding="utf-8")
    shutil.rmtree(root)

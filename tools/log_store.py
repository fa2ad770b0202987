"""Makes `conditional-log-store.jar` from its Java source: `python -m tools.log_store`, with a JDK 17 at hand.

The jar is in the tree because who runs Snowmelt has a Java to run, and no compiler.
"""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from snowmelt.engine.jars import ensure_jars

FOLDER = Path(__file__).parents[1] / "src/snowmelt/engine/object_stores/log_store"
SOURCE, JAR = FOLDER / "ConditionalLogStore.java", FOLDER / "conditional-log-store.jar"
CLASS = "snowmelt/delta/ConditionalLogStore.class"


def compiled(javac: str = "javac") -> bytes:
    """The class file of the source."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    hadoop = sorted((Path(spec.origin).parent / "jars").glob("hadoop-client-api-*.jar"))
    class_path = os.pathsep.join(map(str, [*ensure_jars(), *hadoop]))
    with tempfile.TemporaryDirectory() as folder:
        command = [javac, "--release", "17", "-g:none", "-nowarn", "-d", folder, "-cp", class_path, str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True)
        return (Path(folder) / CLASS).read_bytes()


def jar_of(content: bytes) -> bytes:
    """A jar that is the same each time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as jar:
        jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\r\n\r\n")
        jar.writestr(zipfile.ZipInfo(CLASS), content)
    return made.getvalue()


if __name__ == "__main__":
    JAR.write_bytes(jar_of(compiled()))

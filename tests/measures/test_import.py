import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

BLOCKED = """
import importlib, pkgutil, sys

BLOCKED = {"django", "celery", "kombu", "psycopg2", "redis", "config", "projects", "annotate", "results"}
EXTRA = {"torch", "transformers", "tokenizers", "safetensors"}

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED | EXTRA:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Block())
import measures
for module in pkgutil.walk_packages(measures.__path__, "measures."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        # A module of learned metrics may need what `make neural` installs; nothing else may.
        needed = str(error).removesuffix(" is blocked").split(".")[0]
        assert module.name.startswith("measures.neural.") and needed in EXTRA, f"{module.name}: {error}"
assert "scipy.stats" not in sys.modules, "import it where it is used: it takes every process half a second to start"
from measures.agreement import krippendorff_alpha
from measures.patterns import Patterns
print(krippendorff_alpha(Patterns.from_rows([([1, 1], 2), ([2, 2], 2)]), level="nominal").alpha)
"""


def test_measures_import_where_django_celery_and_torch_cannot_be() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "1.0\n"


def test_the_block_of_this_test_blocks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + "\nimport django"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "django is blocked" in done.stderr

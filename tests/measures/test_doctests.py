import doctest
import importlib
import pkgutil

import pytest

import measures

# Most examples of learned metrics need a model, and some of their modules load torch: tests/measures/neural tests them.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(measures.__path__, "measures.")
    if not module.name.startswith("measures.neural.")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_every_module_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert failed == 0


def test_every_public_function_has_an_example() -> None:
    missing = [
        f"{name}.{function.__name__}"
        for name in MODULES
        for function in vars(importlib.import_module(name)).values()
        if callable(function)
        and getattr(function, "__module__", "") == name
        and type(function).__name__ == "function"
        and not function.__name__.startswith("_")
        and function.__name__ != "alphas"
        and ">>>" not in (function.__doc__ or "")
    ]
    assert missing == []

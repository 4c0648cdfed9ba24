from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpoeo_baselines
import gpoeo_env
import gpoeo_policies

HEAVY = ("lightgbm", "pyarrow", "pydantic", "pynvml", "rich", "scipy", "stable_baselines3", "torch", "typer")
MODULES = sorted(
    found.name
    for package in (gpoeo_env, gpoeo_policies, gpoeo_baselines)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = f"import sys, gpoeo_env; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_loads_no_model_library() -> None:
    models = ("lightgbm", "scipy", "stable_baselines3", "torch")
    code = f"import sys, gpoeo_env.cli.main; print([name for name in {models} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", MODULES)
def test_every_name_in_all_exists(name: str) -> None:
    module = importlib.import_module(name)
    assert [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", MODULES)
def test_every_public_class_and_function_is_named_in_all(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    nodes: list[ast.FunctionDef | ast.ClassDef] = [*functions, *classes]
    public = {node.name for node in nodes if not node.name.startswith("_")}
    assert public - set(getattr(module, "__all__", ())) == set()


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name: str) -> None:
    assert importlib.import_module(name).__doc__

"""What must be true of the repository itself."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from workspace.local.state import PROJECT

LONGEST_FILE = 400  # lines
LONGEST_FUNCTION = 60
FULLEST_FOLDER = 20  # Python files
#: Names that Django or a plain program asks for.
EXPECTED_NAMES = {"Command", "Migration"}
REGISTRY = re.compile(
    r'"resolved": *"http|registry = *"http|^(--)?(extra-)?index-url|url = "http', re.MULTILINE
)


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", pattern], cwd=PROJECT, capture_output=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [PROJECT / name for name in listed.stdout.decode().split("\0") if name]


def our_python() -> Iterator[Path]:
    return (path for path in tracked("*.py") if "migrations" not in path.parts and path.exists())


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=1)


def test_no_file_is_a_house_with_too_many_rooms() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in our_python()}

    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_too_long_to_read_at_once() -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{node.lineno} {node.name}"
        for path in our_python()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]

    assert found == []


def product_python() -> list[Path]:
    apps = {PROJECT / app for app in ("agents", "asks", "workspace")}
    return [path for path in our_python() if apps & set(path.parents)]


def test_no_folder_is_a_heap() -> None:
    folders = Counter(path.parent.relative_to(PROJECT) for path in product_python())

    assert {folder: count for folder, count in folders.items() if count > FULLEST_FOLDER} == {}


def test_no_class_name_means_two_things() -> None:
    # What the demo's agents share is a program of its own, as anybody could write it.
    files = [path for path in product_python() if "demo" not in path.parts]
    names = Counter(
        node.name
        for path in files
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    )

    assert {name for name, count in names.items() if count > 1} - EXPECTED_NAMES == set()


def test_every_dependency_is_pinned_by_its_name_alone() -> None:
    pins = (PROJECT / "constraints.txt").read_text().split()

    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin)] == []


@pytest.mark.parametrize("pattern", ["*.lock", "*lock.json", "*.txt", "*.toml", "*.cfg"])
def test_no_file_names_a_registry(pattern: str) -> None:
    naming = [
        path for path in tracked(pattern) if REGISTRY.search(path.read_text(errors="replace"))
    ]

    assert naming == []


def test_make_help_names_every_interface() -> None:
    said = subprocess.run(["make", "help"], cwd=PROJECT, capture_output=True, text=True, check=True)

    named = set(re.findall(r"make ([a-z-]+)", said.stdout))
    assert named >= {"up", "install", "test", "check", "conformance", "bench", "chaos", "clean"}

"""Tests of `glob` and `grep` on real trees. The results must be the same with ripgrep and without ripgrep."""

import asyncio
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_runtime.tools.glob import GlobAction, GlobObservation, GlobTool
from agent_runtime.tools.grep import GrepAction, GrepObservation, GrepTool
from agent_runtime.tools.search import find, scan
from agent_runtime.tools.tool import ToolContext
from tests.support.patience import PATIENCE_SECONDS

TREE = {
    "README.md": "Hello World\n",
    "src/main.py": "def main():\n    return 'hello'\n",
    "src/deep/er/test_main.py": "import main\n",
    "src/app.ts": "const hello = 1\n",
    "src/view.tsx": "const view = 2\n",
    ".github/workflows/ci.yml": "run: hello\n",
    ".gitignore": "build/\n*.log\n!keep.log\n/only-here.txt\n",
    "build/out.py": "hello\n",
    "debug.log": "hello\n",
    "keep.log": "hello\n",
    "only-here.txt": "hello\n",
    "src/only-here.txt": "hello\n",
    "src/.gitignore": "generated_*\n",
    "src/generated_x.py": "hello\n",
    ".git/config": "hello\n",
    "with space/ünï.txt": "héllo wörld\n",
    "binary.bin": "hello\0hello\n",
    "long.txt": "x" * 200_000 + "\nhello\n",
    "two.txt": "first line\nsecond line\n",
}


# Only the search without ripgrep can be slow: its regular expressions backtrack. ripgrep needs linear time.
slow_expressions = pytest.mark.parametrize("backend", ["without ripgrep"], indirect=True)


@pytest.fixture(params=[pytest.param("ripgrep", marks=pytest.mark.ripgrep), "without ripgrep"])
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "without ripgrep":
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return request.param


@pytest.fixture
def root(tmp_path: Path, backend: str) -> Path:
    root = tmp_path / "work"
    for age, (name, text) in enumerate(TREE.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return root


@pytest.fixture
def glob(root: Path) -> Callable:
    async def glob(pattern: str, path: str | None = None) -> GlobObservation:
        return await GlobTool(ToolContext(root, root)).run(GlobAction(pattern=pattern, path=path))

    return glob


@pytest.fixture
def grep(root: Path) -> Callable:
    async def grep(pattern: str, **fields: str) -> GrepObservation:
        return await GrepTool(ToolContext(root, root)).run(GrepAction(pattern=pattern, **fields))

    return grep


def relative(root: Path, files: list[str]) -> set[str]:
    return {str(Path(file).relative_to(root)) for file in files}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", {"src/main.py", "src/deep/er/test_main.py"}),
        ("**/*.py", {"src/main.py", "src/deep/er/test_main.py"}),
        ("src/*.py", {"src/main.py"}),
        ("./*.md", {"README.md"}),
        ("src/**/test_*.py", {"src/deep/er/test_main.py"}),
        ("src/**/*.{ts,tsx}", {"src/app.ts", "src/view.tsx"}),
        ("src/deep/**", {"src/deep/er/test_main.py"}),
        ("*.y?l", {".github/workflows/ci.yml"}),
        ("*.log", {"keep.log"}),
        ("only-here.txt", {"src/only-here.txt"}),
        ("[!a-z]*.md", {"README.md"}),
        ("ünï*", {"with space/ünï.txt"}),
        ("config", set()),
        ("*.{py", set()),
        ("[", set()),
    ],
)
async def test_glob_finds_what_is_not_ignored(glob, root: Path, pattern: str, expected: set[str]):
    observation = await glob(pattern)
    assert not observation.is_error, observation.text
    assert relative(root, observation.files) == expected


@pytest.mark.parametrize(
    ("pattern", "fields", "expected"),
    [
        ("hello", {"include": "*.{ts,py}"}, {"src/main.py", "src/app.ts"}),
        ("hello", {"include": "src/**/*.py"}, {"src/main.py"}),
        ("(?i)hello world", {}, {"README.md"}),
        ("run: hel+o", {}, {".github/workflows/ci.yml"}),
        (r"^import\s+\w+$", {}, {"src/deep/er/test_main.py"}),
        ("(?<=import )main", {}, {"src/deep/er/test_main.py"}),
        ("[[:upper:]]orld", {}, {"README.md"}),
        (r"w\wrld$", {}, {"with space/ünï.txt"}),
        (r"first line\nsecond", {}, {"two.txt"}),
        ("first.*second", {}, set()),
        ("^hello$", {}, {"keep.log", "src/only-here.txt", "long.txt"}),
        ("-e", {}, set()),
    ],
)
async def test_grep_finds_files_by_their_lines(grep, root: Path, pattern: str, fields, expected: set[str]):
    observation = await grep(pattern, **fields)
    assert not observation.is_error, observation.text
    assert relative(root, observation.matches) == expected


async def test_the_observations_look_as_on_the_wire(glob, grep, root: Path):
    path = str(root / "README.md")
    assert (await glob("*.md")).to_wire() == {
        "content": [
            {
                "cache_prompt": False,
                "type": "text",
                "text": f"Found 1 file(s) matching pattern '*.md' in '{root}':\n{path}",
            }
        ],
        "is_error": False,
        "files": [path],
        "pattern": "*.md",
        "search_path": str(root),
        "truncated": False,
        "kind": "GlobObservation",
    }
    assert (await grep("Hello W")).to_wire() == {
        "content": [
            {
                "cache_prompt": False,
                "type": "text",
                "text": f"Found 1 file(s) containing pattern 'Hello W' in '{root}':\nREADME.md:1:Hello World",
            }
        ],
        "is_error": False,
        "matches": [path],
        "pattern": "Hello W",
        "search_path": str(root),
        "truncated": False,
        "kind": "GrepObservation",
    }


async def test_the_newest_come_first_and_what_is_left_out_is_said(glob, grep, root: Path):
    for number in range(130):
        path = root / f"many/{number:03}.x"
        path.parent.mkdir(exist_ok=True)
        path.write_text("needle\n")
        os.utime(path, (2_000_000 + number, 2_000_000 + number))
    for found, files in ((await glob("*.x"), "files"), (await grep("needle"), "matches")):
        names = [Path(file).name for file in getattr(found, files)]
        assert names == [f"{number:03}.x" for number in range(129, 29, -1)]
        assert found.truncated
        assert "Found 130" in found.text
        assert "100 newest" in found.text
    assert (await grep("needle", files_only=True)).text.count(".x") == 100


async def test_grep_shows_lines_with_their_numbers_and_what_stands_around_them(grep, root: Path):
    (root / "poem.txt").write_text("".join(f"line {n}\n" for n in range(1, 21)))

    plain = await grep("line 1?3$", include="poem.txt")
    around = await grep("line 1?3$", include="poem.txt", context=1)
    only = await grep("line 1?3$", include="poem.txt", files_only=True)

    assert plain.text.splitlines()[1:] == ["poem.txt:3:line 3", "poem.txt:13:line 13"]
    assert around.text.splitlines()[1:] == [
        "poem.txt-2-line 2", "poem.txt:3:line 3", "poem.txt-4-line 4", "--",
        "poem.txt-12-line 12", "poem.txt:13:line 13", "poem.txt-14-line 14",
    ]  # fmt: skip
    assert only.text.splitlines()[1:] == [f"{root}/poem.txt"]
    assert plain.matches == around.matches == only.matches == [f"{root}/poem.txt"]


async def test_a_match_over_several_lines_shows_all_of_them(grep):
    found = await grep(r"first line\nsecond")
    assert found.text.splitlines()[1:] == ["two.txt:1:first line", "two.txt:2:second line"]


async def test_grep_says_what_it_leaves_out(grep, root: Path):
    (root / "much.txt").write_text("needle\n" * 1000 + "needle" + "x" * 5000 + "\n")
    (root / "wide.txt").write_text("y" * 5000 + "haystack\nhaystack" + "z" * 5000 + "\n")

    much, wide = await grep("needle"), await grep("haystack")

    assert much.text.count("much.txt:") == find.MAX_LINES_PER_FILE
    assert f"only the first {find.MAX_LINES_PER_FILE} matches: much.txt" in much.text
    assert wide.text.count("the rest of this long line is left out") == 2
    assert len(wide.text) < 2_000
    assert "\x00" not in (await grep("hello", path=str(root / "binary.bin"))).text


async def test_a_place_to_search_may_be_a_directory_or_for_grep_a_file(glob, grep, root: Path):
    inside = str(root / "src" / "deep")
    assert relative(root, (await glob("*.py", inside)).files) == {"src/deep/er/test_main.py"}
    assert relative(root, (await glob("*.py", "src/deep")).files) == {"src/deep/er/test_main.py"}
    assert relative(root, (await glob(f"{root}/src/*.py")).files) == {"src/main.py"}
    assert relative(root, (await glob(f"{root}/**/test_*.py")).files) == {"src/deep/er/test_main.py"}
    assert relative(root, (await grep("main", path=inside)).matches) == {"src/deep/er/test_main.py"}
    assert relative(root, (await grep("hello", path=str(root / "debug.log"))).matches) == {"debug.log"}
    # The ignore rules of a parent directory also apply if the search starts below this directory.
    assert relative(root, (await glob("*", str(root / "src"))).files).isdisjoint({"src/generated_x.py"})


@pytest.mark.parametrize("path", ["/no/such/place", "a\0b", "x" * 5000])
async def test_a_place_that_is_not_there_is_an_answer(glob, grep, path: str):
    assert (await glob("*", path)).is_error
    assert (await grep("x", path=path)).is_error


async def test_a_wrong_expression_is_explained(grep, glob):
    observation = await grep("(unclosed")
    assert observation.is_error
    assert "parse error" in observation.text
    assert observation.matches == []
    assert (await grep("a\0b")).is_error
    assert (await glob("README.md", "README.md")).is_error


async def test_links_are_not_followed_and_what_cannot_be_read_is_passed_over(glob, grep, root: Path):
    (root / "loop").symlink_to(root)
    (root / "link.md").symlink_to(root / "README.md")
    (root / os.fsdecode(b"bad-\xff.md")).write_text("Hello World")
    names = relative(root, (await glob("*.md")).files)
    assert names == {"README.md", "bad-\ufffd.md"}
    assert len((await grep("Hello World")).matches) == 2


async def test_a_nested_repository_has_separate_ignore_rules(glob, root: Path):
    (root / "vendored/.git").mkdir(parents=True)
    (root / "vendored/some.log").write_text("")
    assert relative(root, (await glob("*.log")).files) == {"keep.log", "vendored/some.log"}


@slow_expressions
async def test_a_search_that_takes_too_long_is_stopped_and_explained(grep, root: Path, monkeypatch):
    monkeypatch.setattr(find, "TIMEOUT_SECONDS", 0.5)
    (root / "trap.txt").write_text("a" * 40)
    observation = await grep("(a+)+b", include="trap.txt")
    assert observation.is_error
    assert "stopped after 0.5 seconds" in observation.text


@slow_expressions
async def test_cancelling_ends_the_process(grep, root: Path):
    (root / "trap.txt").write_text("a" * 40)
    task = asyncio.create_task(grep("(a+)+b{7}"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (pids := _processes("(a+)+b{7}")):  # noqa: ASYNC110 (processes send no events)
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pids
    assert not _processes("(a+)+b{7}")


def _processes(argument: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and argument.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(entry.name)
        except OSError:
            continue
    return found


NAMES = ["a", "b", "ab", "a.py", "b.log", ".x", "foo bar", "build", "Foo", "x.tmp"]
LINES = [
    "*.py", "build/", "/a", "!a.py", "b*", "**/ab", "a/**", "foo\\ bar", "# no", "", "!b.log", "[ab].py",
    "a/b", "**/build/*.tmp", "x.tmp/", "!*/", "*", ".x", "F?o", "a/*/b", "trailing  ", "\\!a", "[!a]*.log",
]  # fmt: skip


@pytest.mark.ripgrep
@pytest.mark.parametrize("seed", range(60))
def test_our_own_listing_is_ripgreps_on_random_trees(tmp_path: Path, seed: int):
    choose = random.Random(seed)  # noqa: S311
    directories = [tmp_path]
    for _ in range(12):
        directory = choose.choice(directories) / choose.choice(NAMES)
        if not directory.exists():
            directory.mkdir()
            directories.append(directory)
    for _ in range(40):
        path = choose.choice(directories) / choose.choice(NAMES)
        if not path.exists():
            path.write_text("x")
    for directory in [tmp_path, *choose.sample(directories, min(3, len(directories)))]:
        (directory / ".gitignore").write_text("\n".join(choose.sample(LINES, choose.randint(1, 5))))
    start = choose.choice(directories)

    command = ["rg", *find._RIPGREP_OPTIONS, "--files", "."]
    listed = subprocess.run(command, cwd=start, capture_output=True, check=False).stdout.split(b"\0")[:-1]

    assert sorted(scan.walk(str(start))) == sorted(name.decode().removeprefix("./") for name in listed)

"""The migrations form one chain. If two of them followed the same migration, every start would fail."""

import re
from pathlib import Path

VERSIONS = Path(__file__).parents[2] / "migrations" / "versions"
STATED = re.compile(r'^(revision|down_revision)\b[^=]*= (?:"(\w+)"|None)$', re.MULTILINE)


def test_each_migration_follows_one_and_one_is_the_last() -> None:
    followed: dict[str, str] = {}
    for file in VERSIONS.glob("*.py"):
        stated = dict(STATED.findall(file.read_text()))
        before = stated["down_revision"]
        assert before not in followed, f"{file.name} and {followed.get(before)} both follow {before!r}"
        followed[before] = stated["revision"]
    chain = [""]
    while chain[-1] in followed:
        chain.append(followed.pop(chain[-1]))
    assert not followed, f"these do not lead back to the first: {sorted(followed.values())}"

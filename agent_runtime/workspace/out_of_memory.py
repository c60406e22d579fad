"""Checks whether the kernel killed a process of this sandbox because the sandbox had used up its memory."""

import re
from pathlib import Path

# cgroup v2, and v1 as engines show it inside a container.
_COUNTERS = (
    Path("/sys/fs/cgroup/memory.events"),
    Path("/sys/fs/cgroup/memory/memory.oom_control"),
)


def kills() -> int:
    """Returns how many processes of this sandbox the kernel has killed because the sandbox had used up its
    memory. Returns 0 if the system has no such counter.
    """
    for path in _COUNTERS:
        try:
            found = re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE)
        except OSError:
            continue  # another version, or a machine that does not show it
        if found:
            return int(found[1])
    return 0

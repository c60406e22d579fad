#!/usr/bin/python3 -I
"""apt-get, apt and apt-cache without root: packages are unpacked in a folder of the agent.

Lists, downloads and the record of what is unpacked are the agent's. The real programs do the rest.
Called by root, as at the build of an image, this is the real program.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HOME = Path.home()
STATE, ROOT = HOME / ".apt", HOME / ".apt" / "root"
CACHE = HOME / ".cache" / "apt"
STATUS, SYSTEM_STATUS = STATE / "status", Path("/var/lib/dpkg/status")
UNPACKED = STATE / "unpacked"
"""What dpkg says of the packages below ROOT, in its own form."""
NEEDS_ROOT = frozenset(
    ("remove", "purge", "autoremove", "autopurge", "upgrade", "dist-upgrade", "full-upgrade", "build-dep")
)
C_LIBRARY = frozenset(("libc6", "libc-bin", "base-files", "dpkg"))
WITH_VALUE = ("-o", "--option", "-c", "--config-file", "-t", "--target-release", "-a", "--host-architecture")
SCRIPTS = ("preinst", "postinst")
MERGED = ("bin", "sbin", "lib", "lib64")
FAILED = 100


def main(name: str, arguments: list[str]) -> int:
    if os.geteuid() == 0:
        return subprocess.call([f"/usr/bin/{name}", *arguments])
    command = command_of(arguments)
    prepare()
    real = [f"/usr/bin/{name}", *options()]
    if command in NEEDS_ROOT:
        return fail(
            f"`{command}` does not work in a sandbox: there is no root here, and packages are only unpacked. "
            f"To begin anew, remove {STATE}. To change the system, change the image."
        )
    if command not in {"install", "reinstall"} or is_dry(arguments):
        return subprocess.call([*real, *arguments])
    if not any((STATE / "lists").glob("*_Packages*")):
        subprocess.call([*real, "update"])
    return install(real, arguments)


def command_of(arguments: list[str]) -> str:
    """The first word that is neither an option nor an option's value."""
    before = ""
    for each in arguments:
        if not each.startswith("-") and before not in WITH_VALUE:
            return each
        before = each
    return ""


def prepare() -> None:
    for folder in (STATE / "lists" / "partial", CACHE / "archives" / "partial", ROOT / "usr"):
        folder.mkdir(parents=True, exist_ok=True)
    for name in MERGED:
        (ROOT / "usr" / name).mkdir(exist_ok=True)
        if not (ROOT / name).is_symlink():
            (ROOT / name).symlink_to(f"usr/{name}")
    UNPACKED.touch()
    unpacked = stanzas(UNPACKED.read_text())
    # Of two versions the one below ROOT is found first.
    STATUS.write_text("\n\n".join(({**stanzas(SYSTEM_STATUS.read_text()), **unpacked}).values()) + "\n\n")


def stanzas(text: str) -> dict[tuple[str, str], str]:
    """What is said of each package, by name and architecture. The last word counts."""
    found = {}
    for stanza in filter(None, (each.strip("\n") for each in text.split("\n\n"))):
        fields = dict(re.findall(r"^(Package|Architecture): (.+)$", stanza, re.MULTILINE))
        found[fields["Package"], fields.get("Architecture", "")] = stanza
    return found


def options() -> list[str]:
    given = {
        "Dir::State": STATE,
        "Dir::State::status": STATUS,
        "Dir::Cache": CACHE,
        "Dir::Log": STATE,
        "Debug::NoLocking": "1",
    }
    return [part for name, value in given.items() for part in ("-o", f"{name}={value}")]


def is_dry(arguments: list[str]) -> bool:
    """Whether nothing is to be unpacked."""
    wanted = {"-s", "--simulate", "--just-print", "--dry-run", "--recon", "--no-act", "--print-uris"}
    return bool(wanted & {*arguments} or {"-d", "--download-only"} & {*arguments})


def install(real: list[str], arguments: list[str]) -> int:
    plan = [*real, "-s", "-qq", "--no-remove", *arguments]
    planned = subprocess.run(plan, stdout=subprocess.PIPE, text=True, check=False)
    if planned.returncode != 0:
        return planned.returncode
    packages = re.findall(r"^Inst (\S+)", planned.stdout, re.MULTILINE)
    if refused := sorted({each.partition(":")[0] for each in packages} & C_LIBRARY):
        return fail(
            f"this would replace {', '.join(refused)}, on which every program here depends. "
            "Only another image can have a newer one."
        )
    archives = CACHE / "archives"
    for left in archives.glob("*.deb"):
        left.unlink()
    # The real program writes what it does, and asks unless told not to.
    status = subprocess.call([*real, "--download-only", "--no-remove", *arguments])
    if status != 0:
        return status
    local = [Path(each) for each in arguments if each.endswith(".deb") and "/" in each]
    scripts = [name for each in [*sorted(archives.glob("*.deb")), *local] if (name := unpack(each))]
    if not packages:
        return 0
    say(f"unpacked {len(packages)} package(s) below {ROOT}, where commands find them.")
    if scripts:
        say(
            f"not run, for there is no root here: the scripts of {', '.join(scripts)}. Services, users and "
            "alternatives that these would set up are not there."
        )
    return 0


def unpack(package: Path) -> str | None:
    """Its name, if it brought scripts that would run now."""
    listed = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True)
    names = subprocess.run(["tar", "-t"], input=listed.stdout, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["dpkg-deb", "-x", package, ROOT], check=True)
    for name in names.decode(errors="surrogateescape").splitlines():
        bring_near(ROOT / name)
    control = STATE / "control"
    shutil.rmtree(control, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-e", package, control], check=True)
    described = (control / "control").read_text().strip()
    name = subprocess.run(
        ["dpkg-deb", "-f", package, "Package"], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.strip()
    with UNPACKED.open("a") as file:
        file.write(f"Status: install ok installed\n{described}\n\n")
    return name if any((control / each).exists() for each in SCRIPTS) else None


def bring_near(path: Path) -> None:
    """A link to a place of the system that is below ROOT leads there."""
    if path.is_symlink() and (target := str(path.readlink())).startswith("/"):
        near = ROOT / target.lstrip("/")
        if os.path.lexists(near) and not os.path.lexists(target):
            path.unlink()
            path.symlink_to(near)


def say(text: str) -> None:
    sys.stderr.write(f"apt-get: {text}\n")


def fail(text: str) -> int:
    sys.stderr.write(f"E: {text}\n")
    return FAILED


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(fail(str(error)))

"""Makes package registries with the single package `greeting` for pip, npm and apt, as files for a
web site.
"""

import base64
import hashlib
import io
import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

from tests.support.outside import Handler


def files_in(directory: Path) -> Handler:
    def handle(_host: str, path: str) -> tuple[int, dict[str, str], bytes]:
        file = directory / path.partition("?")[0].lstrip("/")
        if file.is_dir():
            file /= "index.html"
        if not file.exists():
            return 404, {}, b"no such file"
        kind = "text/html" if file.suffix == ".html" else "application/octet-stream"
        return 200, {"Content-Type": kind}, file.read_bytes()

    return handle


def made_wheel(web: Path) -> None:
    """Writes a Python package index with a wheel of `greeting` to `web`/simple."""
    index = web / "simple" / "greeting"
    index.mkdir(parents=True)
    wheel = "greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(index / wheel, "w") as archive:
        archive.writestr("greeting.py", "WORD = 'hello'\ndef main() -> None:\n    print(WORD)\n")
        meta = "greeting-1.0.dist-info"
        archive.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/entry_points.txt", "[console_scripts]\ngreeting = greeting:main\n")
        archive.writestr(f"{meta}/RECORD", "")
    (index / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')


def made_npm_package(web: Path, host: str) -> None:
    web.mkdir()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        described = b'{"name": "greeting", "version": "1.0.0", "bin": "greet.js"}'
        program = b"#!/usr/bin/env node\nconsole.log('hello')\n"
        for name, content in (("package.json", described), ("greet.js", program)):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    packed = buffer.getvalue()
    (web / "files").mkdir()
    (web / "files" / "greeting-1.0.0.tgz").write_bytes(packed)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    dist = {"tarball": f"https://{host}/files/greeting-1.0.0.tgz", "integrity": integrity}
    versions = {"1.0.0": {"name": "greeting", "version": "1.0.0", "bin": "greet.js", "dist": dist}}
    description = {"name": "greeting", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    (web / "greeting").write_text(json.dumps(description))


def made_deb(web: Path, scratch: Path) -> None:
    """Writes a flat apt repository (`deb … ./`) with a package to `web`.

    The package contains /opt/greeting, a program that prints this file, a Python library, and a script that
    fails if it is run. `scratch` is a folder for building.
    """
    control, content = scratch / "DEBIAN" / "control", scratch / "opt" / "greeting"
    for file in (control, content):
        file.parent.mkdir(parents=True)
    described = "Package: greeting\nVersion: 1.0\nArchitecture: all\nMaintainer: tests\nDescription: hello\n"
    control.write_text(described)
    content.write_text("hello\n")
    program, module = (
        scratch / "usr" / "bin" / "greeting",
        scratch / "usr/lib/python3/dist-packages/greeted.py",
    )
    for file, text in ((program, "#!/bin/sh\necho hello\n"), (module, "WORD = 'hello'\n")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    script = scratch / "DEBIAN" / "postinst"
    script.write_text("#!/bin/sh\nexit 1\n")
    for file in (program, script):
        file.chmod(0o755)
    web.mkdir()
    package = web / "greeting_1.0_all.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--build", scratch, package], check=True, capture_output=True
    )
    packed = package.read_bytes()
    digest = hashlib.sha256(packed).hexdigest()
    entry = f"Filename: ./{package.name}\nSize: {len(packed)}\nSHA256: {digest}\n"
    index = (described + entry + "\n").encode()
    (web / "Packages").write_bytes(index)
    line = f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
    (web / "Release").write_text(f"Date: Sat, 01 Jan 2022 00:00:00 UTC\nSHA256:\n{line}")


def apt_options(root: str, extra: dict[str, str] | None = None) -> list[str]:
    """Returns command line options that make apt store all its files below `root`, so that the calling user
    may run apt.

    extra: further options; None for none.
    """
    options = {
        "Dir::Etc::sourcelist": f"{root}/sources.list",
        "Dir::Etc::sourceparts": f"{root}/parts",
        "Dir::Etc::parts": f"{root}/parts",
        "Dir::Etc::main": "/dev/null",
        "Dir::State": root,
        "Dir::State::status": f"{root}/status",
        "Dir::Cache": f"{root}/cache",
        "Dir::Log": root,
        **(extra or {}),
    }
    return [part for name, value in options.items() for part in ("-o", f"{name}={value}")]


APT_FOLDERS = ("lists/partial", "cache/archives/partial", "parts")

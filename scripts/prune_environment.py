"""Deletes files of installed packages that the product never loads, from the virtual environment that runs
this script.

`make` and the build of the app server's image call the script after each installation. Whole packages that
are not needed are listed in `exclude-dependencies` in pyproject.toml; these packages are not even installed.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackagePath, distribution
from pathlib import Path

NEVER_LOADED = {
    "litellm": (
        # litellm does the same in Python where this library is missing.
        "litellm/rust_bridge/_native.abi3.so",
        # Parts of its proxy server: pages, descriptions, routes. Other parts are loaded by its client.
        "litellm/proxy/_experimental/out/",
        "litellm/proxy/_lazy_openapi_snapshot.json",
        "litellm/proxy/client/",
        "litellm/proxy/guardrails/guardrail_hooks/",
        "litellm/proxy/management_endpoints/",
        "litellm/proxy/swagger/",
    ),
    "botocore": ("botocore/data/",),
    # Other ways to say how a person has signed in, web services, commands.
    "pysaml2": ("saml2/authn_context/", "saml2/tools/", "saml2/ws/"),
    "sqlalchemy": ("sqlalchemy/testing/",),
    "tornado": ("tornado/test/",),
    "xmlschema": ("xmlschema/extras/", "xmlschema/locale/", "xmlschema/testing/"),
}
"""The files and folders to delete. The key is the name of the package. A path with a slash at the end is a
folder.
"""

MOSTLY_UNUSED = {
    "dnspython": "dns",
    "elementpath": "elementpath",
    "litellm": "litellm",
    "openai": "openai",
    "pygments": "pygments",
    "pysaml2": "saml2",
    "wcwidth": "wcwidth",
    "xmlschema": "xmlschema",
}
"""The folders whose bytecode is deleted. Python writes the bytecode of a module again when the module is
loaded. The key is the name of the package.
"""

FILES_TO_KEEP = (
    # How AWS names its regions, how to sign in there, and how its models stream.
    "botocore/data/_retry.json",
    "botocore/data/bedrock-runtime/",
    "botocore/data/endpoints.json",
    "botocore/data/partitions.json",
    "botocore/data/sagemaker-runtime/",
    "botocore/data/sdk-default-configuration.json",
    "botocore/data/signin/",
    "botocore/data/sso/",
    "botocore/data/sso-oidc/",
    "botocore/data/sts/",
)


def main() -> None:
    """Deletes the files in NEVER_LOADED, except those in KEPT, and the bytecode of the packages in
    MOSTLY_UNUSED. Raises SystemExit if an installed package has no file that matches an entry of
    NEVER_LOADED.
    """
    for name, prefixes in NEVER_LOADED.items():
        files = distribution(name).files or []
        for prefix in prefixes:
            found = [file for file in files if _is_below(file, (prefix,))]
            if not found:
                sys.exit(f"{name} has no {prefix} any more. Change scripts/prune_environment.py.")
            for file in found:
                if not _is_below(file, FILES_TO_KEEP):
                    _remove(file)
    _keep_bytecode_of_what_is_loaded()


def _is_below(file: PackagePath, prefixes: tuple[str, ...]) -> bool:
    name = str(file)
    return any(name.startswith(prefix) if prefix.endswith("/") else name == prefix for prefix in prefixes)


def _remove(file: PackagePath) -> None:
    path = Path(file.locate())
    path.unlink(missing_ok=True)
    folder = path.parent
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    while folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _keep_bytecode_of_what_is_loaded() -> None:
    """Deletes the bytecode of the packages in MOSTLY_UNUSED. Then imports the modules that the product loads,
    so that only their bytecode is written again. Most modules of these packages are seldom or never loaded.
    The bytecode of all modules needs 45 MB.
    """
    for name, package in MOSTLY_UNUSED.items():
        for folder in Path(distribution(name).locate_file(package)).rglob("__pycache__"):
            shutil.rmtree(folder)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # Without the setting, litellm fetches a price list while it is imported.
    environment["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    subprocess.run(
        [sys.executable, "-c", "import litellm.main, saml2.client, saml2.metadata"],
        check=True,
        env=environment,
    )


if __name__ == "__main__":
    main()

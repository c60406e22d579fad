"""Contains the security rules for three kinds of shell commands: commands that run downloaded code, commands
that run code given in their arguments, and commands that install software.
"""

from agent_runtime.security.rules import environment, escapes, package_calls
from agent_runtime.security.rules.rule import Rule, of

_ANYTHING = "runs its own program, which can do anything"

_FETCHED = "runs a program that it fetches or decodes first"

CODE = (
    Rule("fetch-to-exec", "HIGH", _FETCHED, of("go deno bun"), package_calls.runs_address),
    Rule(
        "fetch-to-exec",
        "HIGH",
        _FETCHED,
        of("npx npm uvx uv pipx pnpm pnpx yarn bunx bun"),
        package_calls.runs_package_of_address,
    ),
    Rule(
        "fetched-package",
        "UNKNOWN",
        "runs a package that it fetches without asking",
        of("npx npm uvx uv pipx pnpm pnpx yarn bunx bun deno"),
        package_calls.runs_package,
    ),
    Rule("inline-program", "UNKNOWN", _ANYTHING, of("make gmake"), escapes.names_makefile),
    Rule("inline-program", "UNKNOWN", _ANYTHING, test=escapes.runs_inline),
    Rule("inline-program", "UNKNOWN", _ANYTHING, test=escapes.escapes),
    Rule("preload", "HIGH", "makes programs run something else than they are", test=environment.loads_code),
    Rule(
        "hidden-programs",
        "HIGH",
        "lets files that anybody may write stand in for programs of the system",
        test=environment.hides_programs,
    ),
    Rule(
        "packages-from-elsewhere",
        "HIGH",
        "installs software from an address that it names",
        package_calls.MANAGERS,
        package_calls.comes_from_elsewhere,
    ),
    Rule(
        "packages-from-elsewhere",
        "HIGH",
        "installs software from an address that it names",
        test=package_calls.sets_index,
    ),
    Rule(
        "packages-of-the-machine",
        "HIGH",
        "installs software outside the workspace",
        package_calls.MANAGERS,
        package_calls.changes_machine,
    ),
    Rule(
        "packages-of-the-machine",
        "HIGH",
        "changes the software of the machine",
        of("apt apt-get aptitude dnf yum apk pacman brew snap dpkg rpm zypper"),
        package_calls.manages_machine,
    ),
)

"""The list of programs that run another program, such as `sudo` and `env`, with the options that come before
that program.
"""

from collections.abc import Mapping

WRAPPERS: Mapping[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-T", "-U", "-D", "-R", "--user", "--group", "--chdir"}),
    "doas": frozenset({"-u", "-C"}),
    "pkexec": frozenset({"--user"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "xargs": frozenset({"-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n", "-p"}),
    "timeout": frozenset({"-k", "-s", "--kill-after", "--signal"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "chroot": frozenset({"--userspec", "--groups"}),
    "flock": frozenset({"-w", "-E", "--timeout"}),
    "strace": frozenset({"-o", "-e", "-p", "-s"}),
    "watch": frozenset({"-n", "--interval"}),
    "parallel": frozenset({"-j", "--jobs"}),
    "exec": frozenset({"-a"}),
    "time": frozenset({"-f", "-o", "--format", "--output"}),
    "ltrace": frozenset({"-o", "-e", "-p", "-s", "-u"}),
    "numactl": frozenset({"-N", "-m", "-C", "-i", "-p"}),
    "runcon": frozenset({"-t", "-u", "-r", "-l"}),
    "prlimit": frozenset({"-p", "--pid"}),
    "screen": frozenset({"-S", "-t", "-c", "-s", "-h", "-e", "-T"}),
    "systemd-run": frozenset({"-p", "-u", "--unit", "--slice"}),
    **dict.fromkeys(
        (
            *("nohup", "setsid", "command", "builtin", "busybox", "toybox", "unshare", "fakeroot", "chrt"),
            *("taskset", "catchsegv", "entr", "ssh-agent", "dbus-run-session", "xvfb-run", "setarch"),
            *("linux32", "linux64", "run0", "gosu", "su-exec", "unbuffer", "faketime", "proxychains"),
        ),
        frozenset(),
    ),
}
"""For each program that runs another program: its options that take a value."""

OPERANDS = dict.fromkeys(("timeout", "chroot", "flock", "chrt", "taskset", "setarch", "gosu", "su-exec"), 1)
"""The number of arguments, besides options, that come before the started program, by the name of the wrapper.
A wrapper that is not listed here has no such arguments.
"""

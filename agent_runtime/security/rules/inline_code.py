"""Searches the code of a program for signs of possible harm: words and names of functions or modules that
start programs, use the network, delete files, read secrets, write outside the workspace, or hide what the
code does.
"""

import re

_STARTS = (
    r"subprocess|\bos\.(system|popen|exec|spawn|posix_spawn|kill|fork)|\bpty\b|ctypes|child_process|IO\.popen"
    r"|\bpopen|shell_exec|passthru|proc_open|\bsystem\s*[\s(\"'%{]|\bexec\s*[\s(\"'%{]|\bexec(v|l|File)\w*\("
    r"|\bqx\b|%x\b|\bspawn\w*\(|\bspawn\s|Kernel\.|os\.execute|\$\(|DllImport"
)
_DELETES = (
    r"rmtree|\bos\.(remove|unlink|rmdir|chmod|chown|rename|replace|truncate|symlink|link)|\bunlink|\.rmdir\("
    r"|shutil\.(move|copy|make_archive)|(unlink|rm|rmdir|truncate)Sync|\brm\(|FileUtils|File\.(delete|unlink)"
    r"|remove_tree|\brmdir\b"
)
_REACHES = (
    r"requests\.|urllib|urlopen|http\.(client|request|get)|https\.(request|get)|Net::HTTP|httpx|aiohttp"
    r"|\bfetch\s*\(|\bsocket|IO::Socket|TCPSocket|\bnet\.|fsockopen|open-uri|smtplib|ftplib|paramiko|curl_exec"
    r"|file_get_contents\s*\(\s*['\"]http|LWP|XMLHttpRequest|\|&|/inet/"
)
_HIDES = (
    r"\beval\b|__import__|importlib|\bgetattr\b|globals\(|__builtins__|compile\(|b64decode|base64|fromhex"
    r"|codecs|marshal|pickle|\bchr\b|\\x[0-9a-fA-F]{2}|\[::-1\]|fromCharCode|atob\(|Buffer\.from|\bpack\b"
)
_SECRETS = r"os\.environ|getenv|process\.env|%?ENV\b|ENVIRON|/etc/(shadow|passwd|sudoers)|/proc/|\.ssh|\.aws"
_WRITES_OUTSIDE = (
    r"""(open|write\w*|Path|touch|File)\s*[\s(,][^)]*['"](/(?!tmp/|dev/null)|~|\.\./)[^)]*['"]\s*(,\s*['"][wax+>]|\)\.(write|touch))"""
    r"""|writeFile\w*\(\s*['"](/(?!tmp/)|~|\.\./)|file_put_contents\(\s*['"](/(?!tmp/)|~|\.\./)|expanduser|homedir\("""
    r"""|>\s*"/(?!tmp/|dev/)|Path\.home"""
)
_HARM = re.compile(f"{_STARTS}|{_DELETES}|{_REACHES}|{_HIDES}|{_SECRETS}|{_WRITES_OUTSIDE}")


def can_harm(code: str) -> bool:
    """Returns whether the code contains a sign of possible harm, such as the word `subprocess`. False does
    not prove that the code is harmless.
    """
    return bool(_HARM.search(code))

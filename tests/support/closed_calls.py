"""A program that tries the system calls that are forbidden in sandboxes."""

PROBE = r"""
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
found = []
try:
    socket.socket(40, socket.SOCK_STREAM).close()
    found.append("opened")
except OSError as error:
    found.append(errno.errorcode[error.errno])
for number in (425, 426, 427):
    libc.syscall(number, 0, 0, 0, 0, 0, 0)
    found.append(errno.errorcode[ctypes.get_errno()])
for family in (socket.AF_INET, socket.AF_UNIX):
    socket.socket(family).close()
print(*found)
"""
WRITE_PROBE = f"cat > calls.py <<'END_OF_PROBE'\n{PROBE}\nEND_OF_PROBE"
REFUSED = "EPERM EPERM EPERM EPERM"

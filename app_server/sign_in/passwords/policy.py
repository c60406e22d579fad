"""Decides which passwords and login names are accepted. The rules for passwords follow NIST SP 800-63B,
section 3.1.1. This module does no I/O.

A password must be long enough, and must not be one that attackers try first. It need not contain particular
kinds of characters, such as digits.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

from app_server.sign_in.passwords import refusals

MIN_CHARACTERS: Final = 12
MAX_CHARACTERS: Final = 256

_LOGIN_NAME = re.compile(r"[^\W_][\w.+@-]{1,99}")
_SERVICE = "slipway"
_ROWS = ("abcdefghijklmnopqrstuvwxyz", "1234567890", "0123456789", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_MIN_UNIT = 6
"""A password that repeats a text shorter than this many characters counts as too common."""


def login_key(name: str) -> str:
    """Converts a login name to the form that is stored and compared, and returns this form. Names that differ
    only in upper and lower case, or only in the Unicode encoding of a letter, have the same form.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).strip().casefold())


def accepted_login_name(name: str) -> str:
    """Checks a login name and returns the form that is stored. Raises BadRequest `login_name_invalid` if the
    name is too short or too long, or has characters that are not allowed.
    """
    key = login_key(name)
    if not _LOGIN_NAME.fullmatch(key):
        raise refusals.login_name_invalid()
    return key


def suggested_login_name(name: str) -> str:
    """Suggests a login name that is similar to the person's name. Does not check whether another user has
    this login name. Returns an empty text if no part of the name can be used.
    """
    key = re.sub(r"\s+", ".", login_key(name))
    found = _LOGIN_NAME.search(key)
    return found[0] if found else ""


def normalised(password: str) -> str:
    """Converts the password to the form that is hashed (Unicode NFKC), and returns this form. So a password
    is accepted even if another keyboard or system encodes its letters differently.
    """
    return unicodedata.normalize("NFKC", password)


def accepted_password(password: str, own_words: Iterable[str]) -> str:
    """Checks a new password and returns the form that is hashed. `own_words`: the names and e-mail addresses
    of the user; none of them may be the password.

    Raises BadRequest with the reason as its code: `password_too_short`, `password_too_long`,
    `password_is_own_name` or `password_too_common`.
    """
    text = normalised(password)
    if len(text) < MIN_CHARACTERS:
        raise refusals.password_too_short(MIN_CHARACTERS)
    if len(text) > MAX_CHARACTERS:
        raise refusals.password_too_long(MAX_CHARACTERS)
    if _is_own(text, own_words):
        raise refusals.password_is_own_name()
    if is_common(text):
        raise refusals.password_too_common()
    return text


def is_common(password: str) -> bool:
    """Returns whether the password is easy to guess: a common password, a common word with digits and signs
    around it, a short text that is repeated, a row of keys on the keyboard, or a sequence of letters or
    digits.
    """
    text = password.casefold()
    unit = _unit(text)
    if unit != text and len(unit) < _MIN_UNIT:
        return True
    if any(text in row * 3 or text in row[::-1] * 3 for row in (*_ROWS, "".join(_ROWS[3:]))):
        return True
    forms = {text, unit, _without_edges(text), _without_edges(unit)}
    return not forms.isdisjoint(_common_passwords())


def _is_own(password: str, own_words: Iterable[str]) -> bool:
    letters = _letters(password)
    if not letters:
        return False
    units = {letters, _unit(letters)}
    for word in (_SERVICE, *own_words):
        forms = {_letters(word), _letters(word.partition("@")[0])}
        if not units.isdisjoint(forms):
            return True
    return False


def _letters(text: str) -> str:
    return "".join(letter for letter in normalised(text).casefold() if letter.isalpha())


def _unit(text: str) -> str:
    """Returns the part of `text` that is repeated. For example, returns `abc` for `abcabc` and for
    `abcabcab`, whose last repetition is cut. If several parts fit, returns the shortest one. Returns `text`
    itself if it is no repetition. Used to find passwords that are easy to guess.
    """
    for size in range(1, len(text)):
        if (text[:size] * (len(text) // size + 1))[: len(text)] == text and size * 2 <= len(text):
            return text[:size]
    return text


def _without_edges(text: str) -> str:
    return re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)


@cache
def _common_passwords() -> frozenset[str]:
    lines = files(__package__).joinpath("common_passwords.txt").read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith("# "))

"""Parses the bytes for which git requests a signature: a commit or tag object without its signature. The
functions here do no I/O.

The format is that of git's object database (`git cat-file commit`, `git cat-file tag`).
"""

import re
from dataclasses import dataclass
from typing import Literal

_ID = rb"(?:[0-9a-f]{40}|[0-9a-f]{64})"
_PERSON = rb"([^<>\n]*) <([^<>\n]*)> [0-9]+ [+-][0-9]{4}\n"
_COMMIT = re.compile(
    rb"tree " + _ID + rb"\n(?:parent " + _ID + rb"\n)*author " + _PERSON + rb"committer " + _PERSON
)
_TAG = re.compile(rb"object (" + _ID + rb")\ntype [a-z]+\ntag [^\n]+\ntagger " + _PERSON)
# The characters that git removes at both ends of a name (strbuf_addstr_without_crud). Removed here too, so
# that names can be compared.
_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"


class UnsignablePayloadError(Exception):
    """The error that is raised when git requests a signature for bytes that must not be signed. Either they
    are not a commit or tag of git, or they contain a signature already. The message says why.
    """


@dataclass(frozen=True)
class GitPerson:
    """The name and the e-mail address of a person, as git writes them into commits and tags."""

    name: str
    email: str

    def is_like(self, name: str | None, email: str) -> bool:
        """Returns whether this person, from a commit or tag, has the given name and e-mail address. `name`:
        None accepts any name.

        Git removes some characters, such as `<`, from names and addresses before it writes them into a
        commit. So the function removes these characters from `name` and `email` before it compares them.
        """
        return self.email == _plain(email) and (name is None or self.name == _plain(name))


@dataclass(frozen=True)
class Signable:
    """The parsed commit or tag for which git requests a signature. `people`: the author and the committer of
    a commit, or the tagger of a tag.
    """

    kind: Literal["commit", "tag"]
    people: tuple[GitPerson, ...]


def read(payload: bytes) -> Signable:
    """Parses the bytes of a commit or tag object of git, and returns its kind and the people in it. Raises
    UnsignablePayloadError if the bytes are neither a commit nor a tag, or contain a signature already.
    """
    head, _, _ = payload.partition(b"\n\n")
    if b"\ngpgsig" in head:
        raise UnsignablePayloadError("It is signed already.")
    if found := _COMMIT.match(payload):
        return Signable("commit", (_person(found[1], found[2]), _person(found[3], found[4])))
    if found := _TAG.match(payload):
        return Signable("tag", (_person(found[2], found[3]),))
    raise UnsignablePayloadError("Only commits and tags are signed.")


def _person(name: bytes, email: bytes) -> GitPerson:
    return GitPerson(name.decode(errors="replace"), email.decode(errors="replace"))


def _plain(text: str) -> str:
    return re.sub(r"[<>\n]", "", text.strip(_CRUD))

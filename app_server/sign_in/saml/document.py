"""Checks the XML structure of a SAML response before its signature is checked.

A signature proves only the elements that it covers. A response may have other elements beside the signed one,
or two XML parsers may read the response in different ways. A program could then trust an element that is not
signed (signature wrapping). Such responses are refused here. Rules: SAML 2.0 Core, section 5.4, and SAML 2.0
Profiles, section 4.1.4.
"""

import base64
import binascii
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_BYTES: Final = 256 * 1024

_ASSERTION = "{urn:oasis:names:tc:SAML:2.0:assertion}"
_PROTOCOL = "{urn:oasis:names:tc:SAML:2.0:protocol}"
_SIGNATURE = "{http://www.w3.org/2000/09/xmldsig#}"
_ENCRYPTED = {f"{_ASSERTION}{name}" for name in ("EncryptedAssertion", "EncryptedID", "EncryptedAttribute")}
_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"

_MORE = "http://www.w3.org/2001/04/xmldsig-more#"
_ALGORITHMS: Final = {
    f"{_SIGNATURE}SignatureMethod": frozenset(
        f"{_MORE}{key}-sha{bits}" for key in ("rsa", "ecdsa") for bits in (256, 384, 512)
    ),
    f"{_SIGNATURE}DigestMethod": frozenset(
        (
            "http://www.w3.org/2001/04/xmlenc#sha256",
            f"{_MORE}sha384",
            "http://www.w3.org/2001/04/xmlenc#sha512",
        )
    ),
}
"""The accepted algorithms of signatures and digests. SHA-1 is not accepted, because it is broken. HMAC is not
accepted, because it does not prove who has signed.
"""

_ENCODING = re.compile(r"""\A\s*<\?xml[^>]*encoding\s*=\s*["']([^"']*)["']""")


class NotSuccessful(Exception):
    """The error that is raised for a SAML response in which the provider says that it has not signed the
    person in. The error's text is the SAML status code.
    """


class Unacceptable(Exception):
    """The error that is raised for a SAML message that Slipway refuses. The error's text gives the reason. It
    contains no data about the person.
    """


def decoded(response: str) -> bytes:
    """Decodes the form field `SAMLResponse`, checks the structure of the document, and returns the document's
    bytes.

    Raises Unacceptable if the document cannot be decoded or its structure is not allowed. Raises
    NotSuccessful if the provider says in the document that it has not signed the person in.
    """
    try:
        document = base64.b64decode(response, validate=False)
        text = document.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Unacceptable("it is not base64 of UTF-8") from None
    if len(document) > MAX_BYTES:
        raise Unacceptable(f"it is larger than {MAX_BYTES} bytes")
    if (stated := _ENCODING.match(text)) and stated[1].upper() != "UTF-8":
        raise Unacceptable("it states an encoding other than UTF-8")
    _check(_parsed(text))
    return document


def check_logout(text: str, name: str, *, has_signature: bool) -> None:
    """Checks the structure of a single logout message.

    `text`: the message as XML. `name`: the tag that the root element must have. `has_signature`: True if the
    XML itself is signed, False if the URL that carries the message is signed. Raises Unacceptable if the
    structure is not allowed.
    """
    root = _parsed(text)
    if root.tag != f"{_PROTOCOL}{name}":
        raise Unacceptable(f"it is not a {name}")
    tags = Counter(element.tag for element in root.iter())
    if found := _ENCRYPTED & tags.keys():
        raise Unacceptable(f"it has encrypted parts: {', '.join(sorted(found))}")
    if tags[root.tag] != 1:
        raise Unacceptable(f"it has another {name} inside")
    _require_different_ids(root)
    signed = len(root.findall(f"{_SIGNATURE}Signature"))
    if (signed, tags[f"{_SIGNATURE}Signature"]) != ((1, 1) if has_signature else (0, 0)):
        raise Unacceptable("it is not signed, or has a Signature at a wrong place")
    _check_algorithms(root)


def _parsed(text: str) -> "Element":
    # Loaded at the first sign-in, like pysaml2: most servers have no provider.
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root: Element = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Unacceptable(f"it is not plain XML: {type(error).__name__}") from None
    return root


def _check(root: "Element") -> None:
    if root.tag != f"{_PROTOCOL}Response":
        raise Unacceptable("it is not a Response")
    tags = Counter(element.tag for element in root.iter())
    if found := _ENCRYPTED & tags.keys():
        raise Unacceptable(f"it has encrypted parts: {', '.join(sorted(found))}")
    status = root.find(f"{_PROTOCOL}Status/{_PROTOCOL}StatusCode")
    code = status.get("Value", "") if status is not None else ""
    if code != _SUCCESS:
        raise NotSuccessful(code[:200])
    assertions = root.findall(f"{_ASSERTION}Assertion")
    if len(assertions) != 1 or tags[f"{_ASSERTION}Assertion"] != 1 or tags[root.tag] != 1:
        raise Unacceptable("it has not exactly one Assertion, directly below the Response")
    _require_different_ids(root)
    _check_signatures(root, assertions[0], tags[f"{_SIGNATURE}Signature"])


def _require_different_ids(root: "Element") -> None:
    ids = Counter(value for element in root.iter() for name, value in element.items() if name.lower() == "id")
    if any(times > 1 for times in ids.values()):
        raise Unacceptable("two elements have the same ID")


def _check_signatures(root: "Element", assertion: "Element", number: int) -> None:
    """Checks that the Response element, the Assertion element or both are signed. Also checks that no other
    element has a signature, and that the algorithms of the signatures are allowed.

    `root`: the Response element. `assertion`: the Assertion element. `number`: the number of signatures in
    the whole document. A number greater than that of these two elements shows that another element has a
    signature. Raises Unacceptable if a check fails.
    """
    signed = [len(one.findall(f"{_SIGNATURE}Signature")) for one in (root, assertion)]
    if number == 0:
        raise Unacceptable("neither the Response nor the Assertion is signed")
    if sum(signed) != number or max(signed) > 1:
        raise Unacceptable("it has a Signature at a wrong place")
    _check_algorithms(root)


def _check_algorithms(root: "Element") -> None:
    for tag, accepted in _ALGORITHMS.items():
        for element in root.iter(tag):
            if (used := element.get("Algorithm")) not in accepted:
                raise Unacceptable(f"the algorithm {str(used)[:100]} is not accepted")

"""Removes from a text the characters that cannot be stored or sent. Has no side effects."""


def without_lone_surrogates(text: str) -> str:
    """Returns the text without unpaired surrogates, which cannot be encoded. Two surrogates that form a pair
    become one character.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

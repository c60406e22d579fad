"""The version of this code. It is written here because an image holds no installed package."""

VERSION = "0.1.0"

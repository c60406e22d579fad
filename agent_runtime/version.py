"""The version of this code. An image carries the code alone, with no installed package to ask."""

VERSION = "0.1.0"

"""The version of this code. It is written here because an image holds the code without an
installed package.
"""

VERSION = "0.1.0"

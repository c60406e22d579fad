"""The version of Slipway. The number is written in this file and not read from the installed package, because
a container image contains the code without an installed package.
"""

VERSION = "0.1.0"

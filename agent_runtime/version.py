"""The version of Slipway. The number is written in this file because a container image contains the code
without an installed package.
"""

VERSION = "0.1.0"

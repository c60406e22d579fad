"""Parses shell text: which commands the text runs, with which words, and which files and pipes the commands
read and write.

This package has its own parser, because a security rule needs words as the shell sees them: quotes removed,
escapes resolved, known variables replaced, here-documents and substitutions read as scripts. The library
tree-sitter-bash does less: it does not process quotes and escapes, and it treats the keyword `time` as a
program.

Version 0.25.1 of this library was tried on the 1,468 commands of the tests. It rejects six hostile commands,
such as commands with `{rm,-rf,/}` or with redirects to `/dev/tcp`. At least five of these six run in bash,
and Slipway's parser understands five. The sixth is not valid shell, and the user is asked about it. For the
other commands, the results were not better than those of Slipway's parser.
"""

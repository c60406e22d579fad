"""The text that describes the file editor tool to the model."""

DESCRIPTION = """\
View, create and edit text files. Paths are absolute; the working directory is {working_dir}.

* `view` shows a file with line numbers and says which lines of how many, or a directory two levels deep
  without hidden entries. Images are shown as images, notebooks (.ipynb) as cells. Of more than {max_chars:,}
  characters the first part is shown, and the notice tells which lines to ask for next.
* `create` writes a new file and the directories it needs. A file that exists is replaced only with
  `overwrite`.
* `str_replace` replaces `old_str` by `new_str`. `old_str` must occur exactly once, to the last blank: copy it
  from a `view` without the line numbers, with a few lines around the change when it is not unique. To replace
  all occurrences set `replace_all`; to change several places of the file in one call use `edits`.
* `insert` puts `new_str` after line `insert_line`.
* `undo_edit` takes back the last change this tool made to the file.

View before you edit. Encoding and line endings of a file stay as they are; write `new_str` with plain line
breaks. Edits of several files can be sent as several calls in one message.
"""

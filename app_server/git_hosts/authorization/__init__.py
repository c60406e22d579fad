"""Sign-in to git hosts by OAuth and GitHub Apps, and the tokens that this gives."""

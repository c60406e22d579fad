"""Sign-in to git hosts with OAuth applications and GitHub Apps, and the tokens that a sign-in gives."""

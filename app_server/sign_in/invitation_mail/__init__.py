"""Invitations that are sent by e-mail: their database table, and the job that sends them."""

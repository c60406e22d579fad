"""Invitations that are sent by e-mail: what is stored about them, and the job that sends them."""

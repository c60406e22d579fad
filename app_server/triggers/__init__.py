"""Webhooks of git hosts: what happens there starts conversations here and continues them."""

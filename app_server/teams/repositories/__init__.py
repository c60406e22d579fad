"""Repositories that belong to teams: which ones, who may change the list, and what belonging means."""

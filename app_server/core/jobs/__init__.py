"""Durable jobs. A job is stored in the caller's transaction, and one of the app servers runs it later.

`enqueue(session, kind, payload, key=…)` stores a job. `Jobs.register(kind, handler, policy)` sets the handler
that runs jobs of a kind. `Jobs.schedule(kind, handler, every)` repeats a job.
"""

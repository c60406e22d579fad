"""Durable jobs: work that is stored in the caller's transaction and done later by one app server.

`enqueue(session, kind, payload, key=…)` stores a job. `Jobs.register(kind, handler, policy)` sets how jobs of
a kind are done. `Jobs.schedule(kind, handler, every)` repeats a job.
"""

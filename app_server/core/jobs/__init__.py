"""A queue of durable jobs. A job is stored in the database in the caller's transaction, and one of the app
servers runs it later.

`enqueue(session, kind, payload, key=…)` stores a job. Jobs with the same key run one at a time.
`Jobs.register(kind, handler, policy)` sets the function that runs the jobs of one kind. `Jobs.schedule(kind,
handler, every)` sets a job that runs again and again, with the pause `every` after each run.
"""

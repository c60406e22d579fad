import type { Schemas } from '@/api/schema'

/** Notes of agents, as the app server sends them. */

/** A note that an agent proposes. `text` is null for a deletion. A proposal with another text has another id. */
export type MemoryProposal = Schemas['MemoryProposalInfo']

/**
 * `repository` as in github.com/owner/name, or a path on the server.
 * `conversation_id`: who wrote it last; that conversation may be gone.
 */
export type MemoryNoteSummary = Schemas['MemoryNoteSummary']

export type MemoryNote = Schemas['MemoryNoteInfo']

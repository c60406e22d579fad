import type { Schemas } from '@/api/schema'

/** Notes of agents, as the app server sends them. */

/** What an agent wants noted; `text` is null for a deletion. Another text of it has another id. */
export type MemoryProposal = Schemas['MemoryProposalInfo']

/**
 * `repository` as in github.com/owner/name, or a path on the server.
 * `conversation_id`: who wrote it last; that conversation may be gone.
 */
export type MemoryNoteSummary = Schemas['MemoryNoteSummary']

export type MemoryNote = Schemas['MemoryNoteInfo']

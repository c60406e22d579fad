import type { Schemas } from '@/api/schema'

/** The types of agents' notes, as the app server sends them. */

/**
 * A note that an agent proposes. `text` is null if the agent proposes a deletion. A proposal with another
 * text has another id.
 */
export type MemoryProposal = Schemas['MemoryProposalInfo']

/**
 * A note without its text. `repository` is like github.com/owner/name, or a path on the server.
 * `conversation_id` is the conversation that last wrote the note. It may have been deleted since.
 */
export type MemoryNoteSummary = Schemas['MemoryNoteSummary']

export type MemoryNote = Schemas['MemoryNoteInfo']

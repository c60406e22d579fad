/** Notes of agents, as the app server sends them. */

/** What an agent wants noted; `text` is null for a deletion. Another text of it has another id. */
export interface MemoryProposal {
  id: string
  kind: 'new' | 'change' | 'deletion'
  repository: string
  name: string
  title: string
  text: string | null
  conversation_id: string
  created_at: string
}

/** `repository` as in github.com/owner/name, or a path on the server. */
export interface MemoryNoteSummary {
  id: string
  repository: string
  name: string
  title: string
  /** Who wrote it last; that conversation may be gone. */
  conversation_id: string | null
  created_at: string
  updated_at: string
}

export interface MemoryNote extends MemoryNoteSummary {
  text: string
}

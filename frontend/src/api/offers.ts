/** What repositories would run, and what a user has said about it: docs/protocol.md, *What a repository offers*. */

export type OfferKind = 'setup_script' | 'git_hook' | 'hooks' | 'mcp_server' | 'sub_agent' | 'plugin'

/** A file that would run. `text` is null when it is no text. */
export interface OfferedFile {
  path: string
  sha256: string
  /** Bytes. */
  size: number
  text?: string | null
}

/** One thing that a repository would run, in the version that `hash` stands for. */
export interface Offer {
  kind: OfferKind
  path: string
  name: string
  hash: string
  /** The commands in it. */
  runs?: string[]
  definition?: Record<string, unknown> | null
  files?: OfferedFile[]
  /** What of it is not understood, and so not used. */
  left_out?: string[]
  /** Why nobody can consent to it. */
  problem?: string | null
}

export interface OfferInfo {
  offer: Offer
  state: 'pending' | 'allowed' | 'refused'
  /** The version that was allowed last, if this is another. */
  approved?: Offer | null
  is_loaded?: boolean | null
}

export interface ConversationConsent {
  repository: string
  items: OfferInfo[]
}

/** A decision about one version of an offer. */
export interface Consent {
  id: string
  repository: string
  kind: OfferKind
  path: string
  name: string
  hash: string
  decision: 'allowed' | 'refused'
  offer: Offer
  created_at: string
}

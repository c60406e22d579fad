/** Checkpoints as the app server sends them: see docs/protocol.md §3. */

/** When a checkpoint was made: see docs/protocol.md, *Checkpoints*. */
export type CheckpointKind = 'turn' | 'end' | 'edits' | 'rewind' | 'rewound'

/** The files of a workspace as they were once. */
export interface Checkpoint {
  id: number
  kind: CheckpointKind
  seq: number
  /** The message that began the turn. */
  event_id: string | null
  created_at: string
  /** Files that are not in it, and that going back leaves alone. */
  skipped: string[]
}

export interface CheckpointList {
  checkpoints: Checkpoint[]
  /** Why the last one could not be made. */
  unavailable: Record<string, string> | null
}

export interface CheckpointDiff {
  files: { status: 'ADDED' | 'UPDATED' | 'DELETED'; path: string }[]
  /** A unified diff; null when it is too large. */
  patch: string | null
  /** Files that others than the agent have edited since. */
  edited: string[]
  /** Files in whose place is something that no checkpoint has. */
  blocked: string[]
}

export interface RewindRequest {
  files: boolean
  chat: boolean
  on_edits: 'refuse' | 'keep'
}

export interface RewindResult {
  /** The checkpoint of what was there before. */
  undo: number
  files: CheckpointDiff['files']
  kept: string[]
}

import type { Schemas, Sent } from '@/api/schema'

/** Checkpoints as the app server sends them: see docs/protocol.md §3. */

/** When a checkpoint was made: see docs/protocol.md, *Checkpoints*. */
export type CheckpointKind = 'turn' | 'end' | 'edits' | 'rewind' | 'rewound'

/**
 * The files of a workspace as they were once.
 * `event_id`: the message that began the turn.
 * `skipped`: files that are not in it, and that going back leaves alone.
 */
export type Checkpoint = Sent<Schemas['CheckpointInfo']>

/** `unavailable`: why the last one could not be made. */
export type CheckpointList = Sent<Schemas['CheckpointList']>

/**
 * `patch`: A unified diff; null when it is too large.
 * `edited`: files that others than the agent have edited since.
 * `blocked`: files in whose place is something that no checkpoint has.
 */
export type CheckpointDiff = Schemas['CheckpointDiff']

export type RewindRequest = Schemas['RewindRequest']

/** `undo`: the checkpoint of what was there before. */
export type RewindResult = Schemas['RewindResult']

import type { Schemas, Sent } from '@/api/schema'

/** The types of checkpoints, as the app server sends them. See docs/protocol.md §3. */

/** The reason why a checkpoint was made. See docs/protocol.md, *Checkpoints*. */
export type CheckpointKind = 'turn' | 'end' | 'edits' | 'rewind' | 'rewound'

/**
 * The files of a workspace at one moment. `event_id` is the message that began the turn. `skipped` are files
 * that the checkpoint does not contain. A rewind does not change these files.
 */
export type Checkpoint = Sent<Schemas['CheckpointInfo']>

/** `unavailable` is the reason why the last checkpoint could not be made. */
export type CheckpointList = Sent<Schemas['CheckpointList']>

/**
 * `patch` is a unified diff, or null if it is too large. `edited` are files that were edited since by others
 * than the agent. `blocked` are files whose place is taken by something that no checkpoint contains.
 */
export type CheckpointDiff = Schemas['CheckpointDiff']

export type RewindRequest = Schemas['RewindRequest']

/** `undo` is the checkpoint of the files before the rewind. */
export type RewindResult = Schemas['RewindResult']

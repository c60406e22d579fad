/** Finds the events that may have changed files of the workspace. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

const READ_ONLY_OBSERVATIONS = new Set([
  'ThinkObservation',
  'FinishObservation',
  'TaskTrackerObservation',
  'GlobObservation',
  'GrepObservation',
  'ReadFileObservation',
  'ListDirectoryObservation',
  'InvokeSkillObservation',
])

/** Returns whether the event is the answer of a tool that may have written files. */
export function mayTouchFiles(event: ConversationEvent): boolean {
  if (!eventIs(event, 'ObservationEvent')) return false
  const { kind, command } = event.observation as { kind: string; command?: unknown }
  if (kind === 'FileEditorObservation' || kind === 'PlanningFileEditorObservation') return command !== 'view'
  return !READ_ONLY_OBSERVATIONS.has(kind)
}

/** Finds the actions that wait for the user's approval, and the reasons, in the folded view. Pure. */
import type { ConversationView } from '@/events/fold/reduce'
import { eventIs, type EventOf, type SecurityDetails } from '@/events/wire/types'

export interface PendingAction {
  event: EventOf<'ActionEvent'>
  risk: string
  reasons: string[]
  /** Whether the user is asked because of this action. The other actions of the batch only wait with it. */
  asks: boolean
}

/** Returns the actions of the waiting batch, in order. */
export function pendingActions({ items, openActions }: ConversationView): PendingAction[] {
  const analysis = items.findLast(
    (item) => item.type === 'event' && eventIs(item.event, 'SecurityAnalysisEvent'),
  )
  const found = analysis?.type === 'event' ? (analysis.event as EventOf<'SecurityAnalysisEvent'>) : null
  return [...openActions.values()].flatMap((index) => {
    const item = items[index]
    if (item?.type !== 'tool') return []
    const details: SecurityDetails = found?.details[item.action.id] ?? {}
    return [
      {
        event: item.action,
        risk: found?.risks[item.action.id] ?? 'UNKNOWN',
        reasons: details.reasons ?? [],
        asks: details.asks ?? true,
      },
    ]
  })
}

import type { EventOf } from '@/events/wire/types'

export type HookVerdict = 'blocked' | 'failed' | 'informed' | 'passed'

/** What a hook decided: all but `passed` changes how the work goes on. */
export function hookVerdict(event: EventOf<'HookExecutionEvent'>): HookVerdict {
  if (event.blocked) return 'blocked'
  if (event.error || !event.success) return 'failed'
  return event.additional_context?.trim() ? 'informed' : 'passed'
}

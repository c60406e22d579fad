import type { EventOf } from '@/events/wire/types'

export type HookVerdict = 'blocked' | 'failed' | 'informed' | 'passed'

/** The decision of a hook. All decisions except `passed` change how the work continues. */
export function hookVerdict(event: EventOf<'HookExecutionEvent'>): HookVerdict {
  if (event.blocked) return 'blocked'
  if (event.error || !event.success) return 'failed'
  return event.additional_context?.trim() ? 'informed' : 'passed'
}

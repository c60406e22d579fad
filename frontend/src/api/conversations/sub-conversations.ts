import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/** An event of a log. `events/types` defines its kinds. */
export interface LoggedEvent {
  id: string
  kind: string
  timestamp: string
  source: string
  [field: string]: unknown
}

interface EventPage {
  items: LoggedEvent[]
  next_page_id?: string | null
}

/** At most this many pages of a log are loaded. */
const MAX_PAGES = 50

export const subConversationKeys = {
  events: (id: string, subId: string) => ['sub-conversation', id, subId, 'events'] as const,
}

/** The events of a sub-agent, from the first event on. They are available only while the sandbox runs. */
export function subConversationQuery(id: string, subId: string) {
  return queryOptions({
    queryKey: subConversationKeys.events(id, subId),
    queryFn: async ({ signal }) => {
      const path = `/api/v1/app-conversations/${id}/sub-conversations/${subId}/events`
      const events: LoggedEvent[] = []
      let page_id: string | null | undefined = null
      for (let page = 0; page < MAX_PAGES && (page === 0 || page_id); page += 1) {
        const found: EventPage = await request<EventPage>(path, { query: { page_id }, signal })
        events.push(...found.items)
        page_id = found.next_page_id
      }
      return events
    },
  })
}

import type { ConversationSearch } from '@/api/conversations/conversation-keys'
import { nextDayOf, startOfDay } from '@/lib/text/days'

const ARCHIVED = { archived: true, all: null } as const
export type ArchivedFilter = keyof typeof ARCHIVED

/** The filter of the list. An empty value means any value, except for `archived`. */
export interface ConversationsFilter {
  search: string
  repository: string
  status: string
  tag: string
  /** If it is empty, only conversations that are not archived are shown. */
  archived: ArchivedFilter | ''
  model: string
  branch: string
  /** The id of a user. */
  owner: string
  /** The first and the last day on which the conversations were created, in the time zone of the browser. */
  from: string
  to: string
}

export const NO_FILTER: ConversationsFilter = {
  search: '',
  repository: '',
  status: '',
  tag: '',
  archived: '',
  model: '',
  branch: '',
  owner: '',
  from: '',
  to: '',
}

export function isArchivedFilter(value: string): value is ArchivedFilter {
  return value in ARCHIVED
}

export function isFiltered(filter: ConversationsFilter): boolean {
  return Object.values(filter).some(Boolean)
}

/**
 * Returns the filter of an address. The parameter `q` is the search. An unknown value of `archived` is
 * ignored.
 */
export function filterOfParams(params: URLSearchParams): ConversationsFilter {
  const archived = params.get('archived') ?? ''
  return {
    search: params.get('q') ?? '',
    repository: params.get('repository') ?? '',
    status: params.get('status') ?? '',
    tag: params.get('tag') ?? '',
    archived: isArchivedFilter(archived) ? archived : '',
    model: params.get('model') ?? '',
    branch: params.get('branch') ?? '',
    owner: params.get('owner') ?? '',
    from: params.get('from') ?? '',
    to: params.get('to') ?? '',
  }
}

/** Returns the parameters of the address for a filter. It is the inverse of `filterOfParams`. */
export function paramsOfFilter({ search, ...others }: ConversationsFilter): Record<string, string> {
  const chosen = Object.entries({ q: search, ...others }).filter(([, value]) => value)
  return Object.fromEntries(chosen) as Record<string, string>
}

/** Returns the parameters of the API's search for a filter. */
export function searchOfFilter(filter: ConversationsFilter): ConversationSearch {
  return {
    words: filter.search,
    repository: filter.repository,
    status: filter.status,
    tag: filter.tag,
    archived: filter.archived === '' ? false : ARCHIVED[filter.archived],
    model: filter.model,
    branch: filter.branch,
    ownerId: filter.owner,
    createdFrom: startOfDay(filter.from),
    createdBefore: nextDayOf(filter.to),
  }
}

import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { AppConversation, Page } from '@/api/types'
import { conversationKeys, type ConversationSearch } from './conversation-keys'
import { forgetNeedsYou } from './needs-you'

const FILTERED_REFRESH_MS = 1_000

/** Writes a conversation from the live stream into every cache entry that contains it. */
export function setConversation(queryClient: QueryClient, conversation: AppConversation): void {
  queryClient.setQueryData<AppConversation>(conversationKeys.detail(conversation.id), (known) =>
    withAccess(conversation, known),
  )
  const lists = queryClient.getQueriesData<InfiniteData<Page<AppConversation>>>({
    queryKey: conversationKeys.lists,
  })
  for (const [queryKey, data] of lists) {
    if (data === undefined) continue
    const belongs = belongsTo(queryKey[2] as ConversationSearch, conversation)
    const pages = data.pages.map((page) =>
      belongs ? replaceIn(page, conversation) : withoutItem(page, conversation.id),
    )
    queryClient.setQueryData(queryKey, { ...data, pages })
  }
}

/** Returns whether a list contains conversations with the same archived state as this one. */
function belongsTo({ archived = false }: ConversationSearch, conversation: AppConversation): boolean {
  return archived === null || archived === (conversation.archived ?? false)
}

function withoutItem(page: Page<AppConversation>, id: string): Page<AppConversation> {
  if (!page.items.some((item) => item.id === id)) return page
  return { ...page, items: page.items.filter((item) => item.id !== id) }
}

/** Writes a conversation from the user's stream into the cache. Adds it to the lists in which it is new. */
export function listConversation(queryClient: QueryClient, conversation: AppConversation): void {
  setConversation(queryClient, conversation)
  const lists = queryClient.getQueriesData<InfiniteData<Page<AppConversation>>>({
    queryKey: conversationKeys.lists,
  })
  for (const [queryKey, data] of lists) {
    if (isFiltered(queryKey[2] as ConversationSearch)) refreshFiltered(queryClient)
    else if (data && belongsTo(queryKey[2] as ConversationSearch, conversation))
      queryClient.setQueryData(queryKey, withNew(data, conversation))
  }
  const sandbox = conversationKeys.inSandbox(conversation.sandbox_id ?? conversation.id)
  const neighbours = queryClient.getQueryData<Page<AppConversation>>(sandbox)
  if (neighbours?.items.some(({ id }) => id === conversation.id))
    queryClient.setQueryData(sandbox, replaceIn(neighbours, conversation))
  else void queryClient.invalidateQueries({ queryKey: sandbox })
}

/** Removes a conversation from the cache, because it was deleted or is no longer shared with the user. */
export function unlistConversation(queryClient: QueryClient, id: string): void {
  const without = (page: Page<AppConversation>) => withoutItem(page, id)
  queryClient.setQueriesData<InfiniteData<Page<AppConversation>>>(
    { queryKey: conversationKeys.lists },
    (data) => data && { ...data, pages: data.pages.map(without) },
  )
  queryClient.setQueriesData<Page<AppConversation>>(
    { queryKey: conversationKeys.inSandboxes },
    (page) => page && without(page),
  )
  queryClient.removeQueries({ queryKey: conversationKeys.detail(id), type: 'inactive' })
  forgetNeedsYou(queryClient, id)
}

/** Returns whether the list has a filter that only the app server can apply. */
function isFiltered({ shared, archived, ...others }: ConversationSearch): boolean {
  return Object.values(others).some(Boolean) || typeof shared === 'boolean' || archived === true
}

const refreshing = new WeakSet<QueryClient>()

/**
 * Loads the visible filtered lists again, at most once a second. Only the app server can apply their filters.
 */
function refreshFiltered(queryClient: QueryClient): void {
  if (refreshing.has(queryClient)) return
  refreshing.add(queryClient)
  window.setTimeout(() => {
    refreshing.delete(queryClient)
    void queryClient.invalidateQueries({
      queryKey: conversationKeys.lists,
      predicate: ({ queryKey }) => isFiltered(queryKey[2] as ConversationSearch),
    })
  }, FILTERED_REFRESH_MS)
}

/**
 * Returns the list with the conversation inserted at its place, the newest first. Returns the same list if it
 * contains the conversation already, or if the place is on a page that is not loaded.
 */
function withNew(
  data: InfiniteData<Page<AppConversation>>,
  conversation: AppConversation,
): InfiniteData<Page<AppConversation>> {
  const items = data.pages.flatMap((page) => page.items)
  if (items.some(({ id }) => id === conversation.id)) return data
  const isOlder = (item: AppConversation) => item.created_at < conversation.created_at
  const isLast = data.pages.at(-1)?.next_page_id === null
  const place = data.pages.findIndex((page) => page.items.some(isOlder))
  if (place === -1 && !isLast) return data
  const target = place === -1 ? data.pages.length - 1 : place
  const pages = data.pages.map((page, index) => {
    if (index !== target) return page
    const before = page.items.findIndex(isOlder)
    const at = before === -1 ? page.items.length : before
    return { ...page, items: [...page.items.slice(0, at), conversation, ...page.items.slice(at)] }
  })
  return { ...data, pages }
}

function replaceIn(page: Page<AppConversation>, conversation: AppConversation): Page<AppConversation> {
  if (!page.items.some((item) => item.id === conversation.id)) return page
  return {
    ...page,
    items: page.items.map((item) => (item.id === conversation.id ? withAccess(conversation, item) : item)),
  }
}

/**
 * Keeps the known access of the user. The stream sends the same data to all viewers, so it does not contain
 * the access of one user.
 */
function withAccess(conversation: AppConversation, known: AppConversation | undefined): AppConversation {
  return { ...conversation, access: conversation.access ?? known?.access ?? null }
}

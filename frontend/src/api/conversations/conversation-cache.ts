import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { AppConversation, Page } from '@/api/types'
import { conversationKeys, type ConversationSearch } from './conversation-keys'
import { forgetNeedsYou } from './needs-you'

const FILTERED_REFRESH_MS = 1_000

/** Writes a conversation the live stream delivered into every cached place it appears. */
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

/** Whether a list shows conversations that are archived, or not, as this one is. */
function belongsTo({ archived = false }: ConversationSearch, conversation: AppConversation): boolean {
  return archived === null || archived === (conversation.archived ?? false)
}

function withoutItem(page: Page<AppConversation>, id: string): Page<AppConversation> {
  if (!page.items.some((item) => item.id === id)) return page
  return { ...page, items: page.items.filter((item) => item.id !== id) }
}

/** Writes a conversation of the user's stream into the cache, and into the lists where it is new. */
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

/** Takes a conversation out of the cache that was deleted, or is no longer shared with the user. */
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

/** Whether the server alone knows what belongs to the list. */
function isFiltered({ shared, archived, ...others }: ConversationSearch): boolean {
  return Object.values(others).some(Boolean) || typeof shared === 'boolean' || archived === true
}

const refreshing = new WeakSet<QueryClient>()

/** The server alone knows what a filter finds. A list that is shown is loaded again, at most once a second. */
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

/** The list with the conversation at its place, newest first; the same list where it is not new or lies beyond. */
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

/** The stream tells all who watch the same, so what one person may do stays as it was known. */
function withAccess(conversation: AppConversation, known: AppConversation | undefined): AppConversation {
  return { ...conversation, access: conversation.access ?? known?.access ?? null }
}

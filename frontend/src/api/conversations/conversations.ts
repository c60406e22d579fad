import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type QueryClient,
} from '@tanstack/react-query'
import { request } from '@/api/client'
import { ApiError } from '@/api/errors'
import { forgetNeedsYou } from './needs-you'
import type {
  Access,
  AppConversation,
  FilterChoices,
  Page,
  SendMessageReply,
  SendMessageRequest,
  Success,
  TagCount,
} from '@/api/types'

const ROOT = '/api/v1/app-conversations'
const PAGE_SIZE = 30
const NEIGHBOURS = 100
const IMPORT_TIMEOUT_MS = 300_000
const FILTERED_REFRESH_MS = 1_000
const FILTER_CHOICES_MS = 60_000

export const conversationKeys = {
  all: ['conversations'] as const,
  lists: ['conversations', 'list'] as const,
  list: (search: ConversationSearch) => ['conversations', 'list', search] as const,
  tags: ['conversations', 'tags'] as const,
  filterChoices: ['conversations', 'filter-choices'] as const,
  inSandboxes: ['conversations', 'sandbox'] as const,
  inSandbox: (sandboxId: string) => ['conversations', 'sandbox', sandboxId] as const,
  detail: (id: string) => ['conversations', 'detail', id] as const,
}

/**
 * What a list of conversations shows. `words`: of the title, or of one message. `shared`: those of others
 * (true), the user's own (false), or both. `repository`: a part of its name. `status`: of the agent. `tag`:
 * `key`, or `key:value`. `archived`: those that were put aside (true), the others (false, also if left out), or
 * both (null). `model`, `branch`: the whole name. `createdFrom`, `createdBefore`: times in ISO 8601.
 */
export interface ConversationSearch {
  words?: string
  shared?: boolean | null
  repository?: string
  status?: string
  tag?: string
  archived?: boolean | null
  model?: string
  branch?: string
  ownerId?: string
  createdFrom?: string
  createdBefore?: string
}

/** Conversations, newest first, page by page. */
export function conversationsQuery(search: ConversationSearch = {}) {
  return infiniteQueryOptions({
    queryKey: conversationKeys.list(search),
    queryFn: ({ pageParam, signal }) =>
      request<Page<AppConversation>>(`${ROOT}/search`, {
        query: {
          query: search.words || null,
          include_sub_conversations: true,
          shared: search.shared ?? null,
          selected_repository__contains: search.repository || null,
          execution_status__eq: search.status || null,
          tag: search.tag || null,
          archived: search.archived === undefined ? false : search.archived,
          llm_model__eq: search.model || null,
          selected_branch__eq: search.branch || null,
          created_by_user_id__eq: search.ownerId || null,
          created_at__gte: search.createdFrom || null,
          created_at__lt: search.createdBefore || null,
          page_id: pageParam,
          limit: PAGE_SIZE,
        },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    // While a search is on its way, what was found before stays on the page.
    placeholderData: keepPreviousData,
  })
}

/** One conversation. An unknown or foreign id fails with status 404. */
export function conversationQuery(id: string) {
  return queryOptions({
    queryKey: conversationKeys.detail(id),
    queryFn: async ({ signal }) => {
      const [conversation] = await request<(AppConversation | null)[]>(ROOT, { query: { ids: [id] }, signal })
      if (conversation) return conversation
      throw new ApiError(404, { code: 'not_found', detail: 'There is no such conversation.' })
    },
  })
}

/** The other conversations that work in its sandbox, newest first. */
export function neighboursQuery({ id, sandbox_id }: Pick<AppConversation, 'id' | 'sandbox_id'>) {
  return queryOptions({
    queryKey: conversationKeys.inSandbox(sandbox_id ?? id),
    queryFn: ({ signal }) =>
      request<Page<AppConversation>>(`${ROOT}/search`, {
        query: { sandbox_id__eq: sandbox_id ?? id, include_sub_conversations: true, limit: NEIGHBOURS },
        signal,
      }),
    select: ({ items }) => items.filter((item) => item.id !== id),
  })
}

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

/** The user's access to a conversation; undefined while it is not known. */
export function useAccess(id: string): Access | undefined {
  const { data, isPending } = useQuery(conversationQuery(id))
  return isPending ? undefined : (data?.access ?? 'own')
}

export function useRenameConversation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, title }: { id: string; title: string }) =>
      request<AppConversation>(`${ROOT}/${id}`, { method: 'PATCH', body: { title } }),
    onSuccess: (conversation) => setConversation(queryClient, conversation),
  })
}

/** Makes a conversation from the zip of a download. */
export function useImportConversation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (file: File) =>
      request<AppConversation>(`${ROOT}/import`, { method: 'POST', file, timeoutMs: IMPORT_TIMEOUT_MS }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: conversationKeys.lists }),
  })
}

/** The tags of the conversations that the user may see. */
export function tagsQuery() {
  return queryOptions({
    queryKey: conversationKeys.tags,
    queryFn: ({ signal }) => request<TagCount[]>(`${ROOT}/tags`, { signal }),
  })
}

/** What the filters of the search can be set to. */
export function filterChoicesQuery() {
  return queryOptions({
    queryKey: conversationKeys.filterChoices,
    queryFn: ({ signal }) => request<FilterChoices>(`${ROOT}/filter-choices`, { signal }),
    staleTime: FILTER_CHOICES_MS,
  })
}

/** Replaces the tags of a conversation. */
export function useSetTags(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (tags: Record<string, string>) =>
      request<AppConversation>(`${ROOT}/${id}`, { method: 'PATCH', body: { tags } }),
    meta: { isRepeatable: true },
    onSuccess: (conversation) => setConversation(queryClient, conversation),
    onSettled: () => refreshTags(queryClient),
  })
}

/** Loads again what depends on the tags of conversations. */
export function refreshTags(queryClient: QueryClient) {
  return Promise.all([
    queryClient.invalidateQueries({ queryKey: conversationKeys.tags }),
    queryClient.invalidateQueries({ queryKey: conversationKeys.lists }),
  ])
}

export function useDeleteConversation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<Success>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: (_, id) => {
      queryClient.removeQueries({ queryKey: conversationKeys.detail(id) })
      void queryClient.invalidateQueries({ queryKey: conversationKeys.inSandboxes })
      return queryClient.invalidateQueries({ queryKey: conversationKeys.lists })
    },
  })
}

/** Sends a message; before the conversation is READY the server keeps it and answers `queued`. */
export function useSendMessage(id: string) {
  return useMutation({
    mutationFn: (message: SendMessageRequest) =>
      request<SendMessageReply>(`${ROOT}/${id}/send-message`, { method: 'POST', body: message }),
    meta: { errorShownInline: true },
  })
}

/** Sets the total budget of the conversation in US dollars (null: no limit). The agent continues at once. */
export function useRaiseBudget(id: string) {
  return useMutation({
    mutationFn: (dollars: number | null) =>
      request<Success>(`${ROOT}/${id}/budget`, {
        method: 'POST',
        body: { max_budget_per_task: dollars, run: true },
      }),
  })
}

/** Has older events summed up, so that the model's window has room again. */
export function useCondense(id: string) {
  return useMutation({
    mutationFn: () => request<Success>(`${ROOT}/${id}/condense`, { method: 'POST' }),
  })
}

/** `run` goes on, `pause` stops after the current step, `interrupt` stops now. */
export function useControlConversation(id: string) {
  return useMutation({
    mutationFn: (action: 'run' | 'pause' | 'interrupt') =>
      request<Success>(`${ROOT}/${id}/${action}`, { method: 'POST' }),
    meta: { isRepeatable: true },
  })
}

/** Has another saved model take over. The live stream tells when it has. */
export function useSwitchProfile(id: string) {
  return useMutation({
    mutationFn: (name: string) =>
      request<Success>(`${ROOT}/${id}/switch_profile`, { method: 'POST', body: { profile_name: name } }),
  })
}

import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query'
import { request } from '@/api/client'
import { ApiError } from '@/api/errors'
import type { Access, AppConversation, FilterChoices, Page, Success, TagCount } from '@/api/types'
import { setConversation } from './conversation-cache'
import { conversationKeys, type ConversationSearch } from './conversation-keys'

const ROOT = '/api/v1/app-conversations'
const PAGE_SIZE = 30
const NEIGHBOURS = 100
const IMPORT_TIMEOUT_MS = 300_000
const FILTER_CHOICES_MS = 60_000

/** The conversations that match a search, the newest first, page by page. */
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
    // While a new search is loading, the page keeps the previous results.
    placeholderData: keepPreviousData,
  })
}

/** One conversation. The query fails with status 404 if the id is unknown or the user has no access. */
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

/** The other conversations in the sandbox of this conversation, the newest first. */
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

/** Returns the user's access to a conversation. Returns undefined while it is not known. */
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

/** Imports a conversation from a zip file that was downloaded from Slipway. */
export function useImportConversation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (file: File) =>
      request<AppConversation>(`${ROOT}/import`, { method: 'POST', file, timeoutMs: IMPORT_TIMEOUT_MS }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: conversationKeys.lists }),
  })
}

/** The tags of the conversations that the user can see. */
export function tagsQuery() {
  return queryOptions({
    queryKey: conversationKeys.tags,
    queryFn: ({ signal }) => request<TagCount[]>(`${ROOT}/tags`, { signal }),
  })
}

/** The values that the filters of the search offer. */
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

/** Loads all data again that depends on the tags of conversations. */
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

import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'

const SETTINGS = '/api/v1/settings/sandbox-grouping'

/** The strategies, in the order of the settings page. */
export const GROUPING_STRATEGIES = [
  'NO_GROUPING',
  'GROUP_BY_NEWEST',
  'LEAST_RECENTLY_USED',
  'FEWEST_CONVERSATIONS',
  'ADD_TO_ANY',
] as const

export type GroupingStrategy = (typeof GROUPING_STRATEGIES)[number]

/** The setting. `max_conversations_per_sandbox` is the largest number of conversations in one sandbox. */
export type SandboxGrouping = Schemas['SandboxGrouping']

const keys = { settings: ['sandbox-grouping'] as const }

/** The setting that decides whether new conversations share sandboxes. */
export function sandboxGroupingQuery() {
  return queryOptions({
    queryKey: keys.settings,
    queryFn: ({ signal }) => request<SandboxGrouping>(SETTINGS, { signal }),
  })
}

export function useSetSandboxGrouping() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (strategy: GroupingStrategy) =>
      request<SandboxGrouping>(SETTINGS, {
        method: 'PUT',
        body: { sandbox_grouping_strategy: strategy },
      }),
    onSuccess: (settings) => queryClient.setQueryData(keys.settings, settings),
  })
}

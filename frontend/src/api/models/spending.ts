import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Success } from '@/api/types'

export const SPENDING_PERIODS = ['day', 'month'] as const
export type SpendingPeriod = (typeof SPENDING_PERIODS)[number]

/** A limit in US dollars. Null means that there is no limit. */
export type LimitPerPeriod = Schemas['SetSpendingLimit']

/** The limit that an administrator has set, and the amount that is spent in the present period. */
export type AdministeredLimit = Schemas['AdministeredLimit']

/**
 * The user's limit for all conversations together. `raised` is the amount that is added to the limit for the
 * present period. `administered` is the limit of an administrator, which applies in addition.
 */
export type SpendingLimit = Schemas['SpendingLimit']

/** The spending limit of one user, as administrators see it. */
export type UserLimit = Schemas['UserLimit']

export type SpendingLimits = Schemas['SpendingLimits']

const SETTINGS = '/api/v1/settings/spending-limit'
const ADMINISTRATION = '/api/v1/administration/spending-limits'

export const spendingKeys = {
  limit: ['spending-limit'] as const,
  all: ['administration', 'spending-limits'] as const,
}

/** The user's spending limit, and the amount that is spent. */
export function spendingLimitQuery() {
  return queryOptions({
    queryKey: spendingKeys.limit,
    queryFn: ({ signal }) => request<SpendingLimit>(SETTINGS, { signal }),
  })
}

/** Writes a limit from the user's stream into the cache. */
export function setSpendingLimit(queryClient: QueryClient, limit: SpendingLimit): void {
  queryClient.setQueryData(spendingKeys.limit, limit)
}

export function useSetSpendingLimit() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: LimitPerPeriod) => request<SpendingLimit>(SETTINGS, { method: 'PUT', body }),
    onSuccess: (limit) => queryClient.setQueryData(spendingKeys.limit, limit),
    meta: { errorShownInline: true },
  })
}

/** Raises the limit until the present period ends, and lets the conversation continue. */
export function useSpendMore(conversationId: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (by: number) => {
      const limit = await request<SpendingLimit>(`${SETTINGS}/raise`, { method: 'POST', body: { by } })
      queryClient.setQueryData(spendingKeys.limit, limit)
      await request<Success>(`/api/v1/app-conversations/${conversationId}/run`, { method: 'POST' })
    },
  })
}

/** The spending limits of all users, and of single users. Only administrators may read them. */
export function spendingLimitsQuery() {
  return queryOptions({
    queryKey: spendingKeys.all,
    queryFn: ({ signal }) => request<SpendingLimits>(ADMINISTRATION, { signal }),
  })
}

/** Sets a spending limit. Without a user, sets the default limit of all users. */
export function useAllowSpending(userId?: string) {
  const change = useChangedLimits()
  const path = userId === undefined ? 'default' : `users/${userId}`
  return useMutation({
    mutationFn: (body: LimitPerPeriod) =>
      request<LimitPerPeriod>(`${ADMINISTRATION}/${path}`, { method: 'PUT', body }),
    onSuccess: change,
    meta: { errorShownInline: true },
  })
}

/** Removes the limit of one user, so that the default limit applies. */
export function useFollowDefault(userId: string) {
  const change = useChangedLimits()
  return useMutation({
    mutationFn: () => request<UserLimit>(`${ADMINISTRATION}/users/${userId}`, { method: 'DELETE' }),
    onSuccess: change,
  })
}

/**
 * Loads the limits again. The administrator's limit can be among the changed limits, so it is loaded again,
 * too.
 */
function useChangedLimits() {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      [spendingKeys.all, spendingKeys.limit].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
    )
}

import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

export type Marketplace = Schemas['MarketplaceRegistration']
export type MarketplaceContents = Schemas['MarketplaceSkillsPreviewResponse']

/** `own` are the user's marketplaces. `shared` are the marketplaces of all users of this server. */
export interface Marketplaces {
  own: Marketplace[]
  shared: Marketplace[]
}

const ALL = ['marketplaces'] as const

export function marketplacesQuery() {
  return queryOptions({
    queryKey: ALL,
    queryFn: async ({ signal }): Promise<Marketplaces> => {
      const settings = await request<Schemas['SettingsInfo']>('/api/v1/settings', { signal })
      return { own: settings.registered_marketplaces, shared: settings.inherited_marketplaces }
    },
  })
}

export interface MarketplaceChange {
  list: keyof Marketplaces
  marketplaces: Marketplace[]
}

/** Replaces the user's list or the shared list. The form shows the errors. */
export function useSaveMarketplaces() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ list, marketplaces }: MarketplaceChange) => {
      const body = marketplaces.map(({ scope: _scope, ...rest }) => rest)
      return list === 'own'
        ? request<unknown>('/api/v1/settings', { method: 'POST', body: { registered_marketplaces: body } })
        : request<unknown>('/api/v1/marketplaces/shared', { method: 'PUT', body: { marketplaces: body } })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ALL }),
    meta: { errorShownInline: true },
  })
}

/** Reads the contents of a marketplace from its source. Nothing is stored. */
export function useMarketplaceContents() {
  return useMutation({
    mutationFn: ({ scope: _scope, ...marketplace }: Marketplace) =>
      request<MarketplaceContents>('/api/v1/skills/marketplace-skills', {
        method: 'POST',
        body: [marketplace],
      }),
    meta: { errorShownInline: true },
  })
}

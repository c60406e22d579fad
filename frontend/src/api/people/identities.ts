import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'

/** By which people can sign in beside one-time links. `url`: where the browser goes to do so. */
export type IdentityProvider = components['schemas']['ProviderInfo']

/** A provider, and whether the user's account is connected with it. */
export type IdentityConnection = components['schemas']['IdentityConnection']

/** For administrators: a provider with the addresses to register there, and what is wrong with it. */
export type ProviderOverview = components['schemas']['ProviderOverview']

const identityKeys = { connections: ['identities'] as const }

export function identityProvidersQuery() {
  return queryOptions({
    queryKey: ['sign-in', 'providers'] as const,
    queryFn: ({ signal }) => request<IdentityProvider[]>('/api/v1/sign-in/providers', { signal }),
    staleTime: 5 * 60_000,
  })
}

export function providerOverviewQuery() {
  return queryOptions({
    queryKey: ['administration', 'sign-in-providers'] as const,
    queryFn: ({ signal }) =>
      request<ProviderOverview[]>('/api/v1/administration/sign-in-providers', { signal }),
  })
}

export function connectionsQuery() {
  return queryOptions({
    queryKey: identityKeys.connections,
    queryFn: ({ signal }) => request<IdentityConnection[]>('/api/v1/identities', { signal }),
  })
}

/** Returns the address that the browser must open to connect the account with this provider. */
export function useBeginConnection() {
  return useMutation({
    mutationFn: (provider: string) =>
      request<components['schemas']['ProviderPage']>(`/api/v1/identities/${provider}`, { method: 'POST' }),
  })
}

export function useEndConnection() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (provider: string) => request<void>(`/api/v1/identities/${provider}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: identityKeys.connections }),
  })
}

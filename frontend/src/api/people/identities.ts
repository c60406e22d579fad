import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'

/**
 * An identity provider. People can sign in with it instead of a one-time link. `url` is the address where the
 * sign-in begins.
 */
export type IdentityProvider = components['schemas']['ProviderInfo']

/** An identity provider, and whether the user's account is connected with it. */
export type IdentityConnection = components['schemas']['IdentityConnection']

/**
 * A provider as administrators see it, with the addresses to register at the provider, and with its problems.
 */
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

/**
 * Starts to connect the user's account with this provider. Returns the address that the browser must open.
 */
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

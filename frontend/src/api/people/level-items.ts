import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { specKeys } from '@/api/sandboxes/sandbox-specs'
import { request } from '@/api/client'
import type { Schemas, Sent } from '@/api/schema'

/** An item that the organisation or a team gives to the current user. */
export type InheritedItem = Schemas['GivenItem']
/** An item of the organisation or of a team as administrators see it, and the people who override it. */
export type AdministeredItem = Sent<Schemas['AdministeredItem']>
export type ItemKind = Schemas['LevelItemKind']

const INHERITED = '/api/v1/settings/levels/items'
const ADMINISTRATION = '/api/v1/administration/items'

const itemKeys = {
  given: ['level-items'] as const,
  all: ['administration', 'level-items'] as const,
}

export function inheritedItemsQuery() {
  return queryOptions({
    queryKey: itemKeys.given,
    queryFn: ({ signal }) => request<InheritedItem[]>(INHERITED, { signal }),
  })
}

/** The items of the organisation and of all teams. Only administrators may read them. */
export function administeredItemsQuery() {
  return queryOptions({
    queryKey: itemKeys.all,
    queryFn: ({ signal }) => request<AdministeredItem[]>(ADMINISTRATION, { signal }),
  })
}

/** The owner of an item. `teamId` is null for the organisation. */
export interface ItemLocation {
  kind: ItemKind
  name: string
  teamId: string | null
}

function path({ kind, name, teamId }: ItemLocation) {
  const team = teamId === null ? '' : `?team_id=${teamId}`
  return `${ADMINISTRATION}/${kind}/${encodeURIComponent(name)}${team}`
}

/** Adds or changes an item. The form shows the errors. */
export function useSaveLevelItem() {
  const refresh = useRefreshed()
  return useMutation({
    mutationFn: ({ body, ...location }: ItemLocation & { body: object }) =>
      request<AdministeredItem>(path(location), { method: 'PUT', body }),
    onSuccess: refresh,
    meta: { errorShownInline: true },
  })
}

export function useDeleteLevelItem() {
  const refresh = useRefreshed()
  return useMutation({
    mutationFn: (location: ItemLocation) => request<void>(path(location), { method: 'DELETE' }),
    onSuccess: refresh,
  })
}

function useRefreshed() {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      [itemKeys.given, itemKeys.all, specKeys.list, specKeys.settings].map((queryKey) =>
        queryClient.invalidateQueries({ queryKey }),
      ),
    )
}

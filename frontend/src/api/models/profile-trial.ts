import type { Schemas } from '@/api/schema'
import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'

/**
 * The result of one real call of a profile's model. `images` is null if no image was sent. `cost` is in US
 * dollars, or null if the price is not known. `refusal` is the vendor's text.
 */
export type ProfileTrial = Schemas['ProfileTrial']

/** Calls a profile's model once. The dialog shows the errors. */
export function useTryProfile(name: string) {
  return useMutation({
    mutationFn: () =>
      request<ProfileTrial>(`/api/v1/settings/profiles/${encodeURIComponent(name)}/test`, { method: 'POST' }),
    meta: { errorShownInline: true },
  })
}

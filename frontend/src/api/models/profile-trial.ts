import type { Schemas } from '@/api/schema'
import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'

/**
 * What one real call of a profile's model has shown.
 * `images`: null = none was sent.
 * `cost`: US dollars; null = the price is not known.
 * `refusal`: the vendor's words.
 */
export type ProfileTrial = Schemas['ProfileTrial']

/** Asks a profile's model once. The dialog shows the errors. */
export function useTryProfile(name: string) {
  return useMutation({
    mutationFn: () =>
      request<ProfileTrial>(`/api/v1/settings/profiles/${encodeURIComponent(name)}/test`, { method: 'POST' }),
    meta: { errorShownInline: true },
  })
}

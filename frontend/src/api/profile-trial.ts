import { useMutation } from '@tanstack/react-query'
import { request } from './client'

/** What one real call of a profile's model has shown. */
export interface ProfileTrial {
  answers: boolean
  calls_tools: boolean
  streams: boolean
  reasons: boolean
  /** Null = none was sent. */
  images: boolean | null
  prompt_tokens: number
  completion_tokens: number
  /** US dollars; null = the price is not known. */
  cost: number | null
  seconds: number
  /** The vendor's words. */
  refusal: string | null
}

/** Asks a profile's model once. The dialog shows the errors. */
export function useTryProfile(name: string) {
  return useMutation({
    mutationFn: () =>
      request<ProfileTrial>(`/api/v1/settings/profiles/${encodeURIComponent(name)}/test`, { method: 'POST' }),
    meta: { errorShownInline: true },
  })
}

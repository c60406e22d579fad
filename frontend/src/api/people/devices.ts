import { useMutation, useQueryClient } from '@tanstack/react-query'
import { apiKeyKeys } from './api-keys'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'

/** A terminal that waits until the user allows its sign-in. */
export type Device = components['schemas']['DeviceInfo']

/** Finds the device that shows a code. The page shows the errors. */
export function useFindDevice() {
  return useMutation({
    mutationFn: (userCode: string) =>
      request<Device>('/api/v1/device-sign-ins/find', { method: 'POST', body: { user_code: userCode } }),
    meta: { errorShownInline: true },
  })
}

/** Allows or refuses the sign-in of a device. The page shows the errors. */
export function useAnswerDevice() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ userCode, isAllowed }: { userCode: string; isAllowed: boolean }) =>
      request<void>('/api/v1/device-sign-ins/answer', {
        method: 'POST',
        body: { user_code: userCode, is_allowed: isAllowed },
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: apiKeyKeys.all }),
    meta: { errorShownInline: true },
  })
}

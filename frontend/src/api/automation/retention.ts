import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '../client'
import type { Schemas } from '../schema'

const PATH = '/api/v1/administration/conversation-retention'

/** The rule for conversations without activity. If `days` is null, nothing happens to them. */
export type RetentionSetting = Schemas['RetentionSetting']

const keys = {
  setting: ['administration', 'retention'] as const,
  preview: (setting: RetentionSetting) => ['administration', 'retention', 'preview', setting] as const,
}

export function retentionQuery() {
  return queryOptions({
    queryKey: keys.setting,
    queryFn: ({ signal }) => request<RetentionSetting>(PATH, { signal }),
  })
}

/** The number of conversations that the setting would archive or delete now. */
export function retentionPreviewQuery(setting: RetentionSetting) {
  return queryOptions({
    queryKey: keys.preview(setting),
    queryFn: ({ signal }) =>
      request<Schemas['RetentionPreview']>(`${PATH}/preview`, { method: 'POST', body: setting, signal }),
    placeholderData: keepPreviousData,
  })
}

export function useSaveRetention() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (setting: RetentionSetting) =>
      request<RetentionSetting>(PATH, { method: 'PUT', body: setting }),
    onSuccess: (saved) => queryClient.setQueryData(keys.setting, saved),
  })
}

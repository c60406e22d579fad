import type { Schemas } from '@/api/schema'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { conversationKeys } from './conversation-keys'
import { setStartTask } from './start-tasks'
import type { StartTask } from '@/api/types'

export type ForkConversation = Schemas['ForkConversation']

/**
 * Makes an independent copy of a conversation. The request returns when the files are copied. The start of
 * the copy continues after that.
 */
export function useFork(conversationId: string, onForked: (id: string) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: ForkConversation) =>
      request<StartTask>(`/api/v1/app-conversations/${conversationId}/fork`, { method: 'POST', body }),
    onSuccess: (task) => {
      setStartTask(queryClient, task)
      void queryClient.invalidateQueries({ queryKey: conversationKeys.lists })
      onForked(task.id)
    },
  })
}

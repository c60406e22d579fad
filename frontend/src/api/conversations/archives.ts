import type { Schemas } from '@/api/schema'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { conversationKeys } from './conversation-keys'
import { setStartTask } from './start-tasks'
import type { AppConversation, StartRequest, StartTask, Success } from '@/api/types'

const ROOT = '/api/v1/sandboxes'

/** Keeps the files in an archive alone; the next message brings them back. Answers when they are safe. */
export function useArchive({ id, sandbox_id }: AppConversation) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => request<Success>(`${ROOT}/${sandbox_id ?? id}/archive`, { method: 'POST' }),
    meta: { isRepeatable: true },
    onSettled: () => queryClient.invalidateQueries({ queryKey: conversationKeys.all }),
  })
}

/** Archives the sandboxes of these conversations, one after the other, each once. */
export function useArchiveSandboxes() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (conversations: readonly AppConversation[]) => {
      for (const id of new Set(conversations.map((each) => each.sandbox_id ?? each.id)))
        await request<Success>(`${ROOT}/${id}/archive`, { method: 'POST' })
    },
    meta: { isRepeatable: true },
    onSettled: () => queryClient.invalidateQueries({ queryKey: conversationKeys.all }),
  })
}

/** `from_backup`: also if that is older than the log, which stays as it is. */
export type ResumeSandbox = Schemas['ResumeSandbox']

/** Starts the sandbox. Its status then shows whether it runs. */
export function useWakeSandbox(id: string) {
  return useMutation({
    mutationFn: (how?: ResumeSandbox) =>
      request<Success>(`${ROOT}/${id}/resume`, { method: 'POST', body: how }),
    meta: { errorShownInline: true },
  })
}

/** A new conversation that begins with the files as they are now; `onStarted` is told its id. */
export function useBeginFromFiles(conversation: AppConversation, onStarted: (id: string) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async () => {
      // By the conversation: of what it shares with others, only its own files.
      const snapshot = await request<{ id: string }>(`${ROOT}/${conversation.id}/snapshots`, {
        method: 'POST',
        body: {},
      })
      const body: StartRequest = { snapshot_id: snapshot.id, llm_profile: conversation.llm_profile }
      return request<StartTask>('/api/v1/app-conversations', { method: 'POST', body })
    },
    onSuccess: (task) => {
      setStartTask(queryClient, task)
      void queryClient.invalidateQueries({ queryKey: conversationKeys.lists })
      onStarted(task.id)
    },
  })
}

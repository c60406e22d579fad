import type { Schemas } from '@/api/schema'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { conversationKeys } from './conversation-keys'
import { setStartTask } from './start-tasks'
import type { AppConversation, StartRequest, StartTask, Success } from '@/api/types'

const ROOT = '/api/v1/sandboxes'

/**
 * Archives a sandbox: its files are kept in an archive only. The next message restores them. The request
 * returns when the files are safely stored.
 */
export function useArchive({ id, sandbox_id }: AppConversation) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => request<Success>(`${ROOT}/${sandbox_id ?? id}/archive`, { method: 'POST' }),
    meta: { isRepeatable: true },
    onSettled: () => queryClient.invalidateQueries({ queryKey: conversationKeys.all }),
  })
}

/**
 * Archives the sandboxes of these conversations one after the other. A sandbox that several conversations
 * share is archived once.
 */
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

/** `from_backup` allows a start from a backup that is older than the log. The log stays as it is. */
export type ResumeSandbox = Schemas['ResumeSandbox']

/** Starts the sandbox. The status of the sandbox shows when it runs. */
export function useWakeSandbox(id: string) {
  return useMutation({
    mutationFn: (how?: ResumeSandbox) =>
      request<Success>(`${ROOT}/${id}/resume`, { method: 'POST', body: how }),
    meta: { errorShownInline: true },
  })
}

/**
 * Starts a new conversation with the present files of a conversation. `onStarted` gets the id of the new
 * conversation.
 */
export function useBeginFromFiles(conversation: AppConversation, onStarted: (id: string) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async () => {
      // The snapshot is made of the conversation and not of the sandbox. In a shared sandbox, it contains
      // only the files of this conversation.
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

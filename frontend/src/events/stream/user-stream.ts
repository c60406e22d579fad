/** The user's live stream. It keeps the lists in the cache up to date, so that no list has to be polled. */
import type { QueryClient } from '@tanstack/react-query'
import { conversationKeys } from '@/api/conversations/conversation-keys'
import { listConversation, unlistConversation } from '@/api/conversations/conversation-cache'
import { markNeedsYou, setNeedsYou } from '@/api/conversations/needs-you'
import { setStartTask } from '@/api/conversations/start-tasks'
import { setSpendingLimit } from '@/api/models/spending'
import { userKeys } from '@/api/people/users'
import type { AppConversation, StartTask } from '@/api/types'
import type { Schemas } from '@/api/schema'
import type { ErrorFrame } from '@/events/wire/types'
import { openFrameSocket, type EventSocket, type SocketEnvironment } from './frame-socket'

/** Fields for which the front end has narrower types. */
interface Narrowed {
  conversations: AppConversation[]
  start_tasks: StartTask[]
  conversation: AppConversation
  task: StartTask
}

type Narrow<Frame> = { [Field in keyof Frame]: Field extends keyof Narrowed ? Narrowed[Field] : Frame[Field] }

export type UserFrame =
  | Narrow<Schemas['SnapshotFrame']>
  | Narrow<Schemas['ConversationFrame']>
  | Narrow<Schemas['StartTaskFrame']>
  | Schemas['RemovedFrame']
  | Schemas['SpendingFrame']
  | ErrorFrame

export interface UserStreamOptions {
  queryClient: QueryClient
  /** Called when a conversation has begun to wait for the user. */
  onNeedsYou: (conversation: AppConversation) => void
  environment?: Partial<SocketEnvironment>
}

/** Opens the stream. The caller closes it. */
export function openUserStream({ queryClient, onNeedsYou, environment }: UserStreamOptions): EventSocket {
  let isFirst = true

  function showSnapshot(frame: Extract<UserFrame, { type: 'snapshot' }>) {
    for (const conversation of frame.conversations) listConversation(queryClient, conversation)
    for (const task of frame.start_tasks) setStartTask(queryClient, task)
    setSpendingLimit(queryClient, frame.spending)
    for (const conversation of setNeedsYou(queryClient, frame.conversations))
      if (!isFirst) onNeedsYou(conversation)
    refreshLists(queryClient, !isFirst)
    isFirst = false
  }

  return openFrameSocket<UserFrame>({
    url: (origin) => `${origin}/api/v1/users/me/stream`,
    take: (frame, setOpen) => {
      switch (frame.type) {
        case 'snapshot':
          setOpen()
          showSnapshot(frame)
          break
        case 'conversation':
          listConversation(queryClient, frame.conversation)
          if (markNeedsYou(queryClient, frame.conversation)) onNeedsYou(frame.conversation)
          break
        case 'start_task':
          setStartTask(queryClient, frame.task)
          break
        case 'removed':
          unlistConversation(queryClient, frame.conversation_id)
          break
        case 'spending':
          setSpendingLimit(queryClient, frame.spending)
          break
        case 'error':
          break
      }
      return true
    },
    onConnection: ({ state }) => state === 'signed_out' && leaveIfSignedOut(queryClient),
    environment,
  })
}

/**
 * Loads the signed-in user again. If the server refuses, the app goes to the sign-in page. A sign-out in this
 * page is handled elsewhere, because the server's reply may contain another address to go to.
 */
function leaveIfSignedOut(queryClient: QueryClient): void {
  if (queryClient.isMutating({ mutationKey: userKeys.signOut }) > 0) return
  void queryClient.invalidateQueries({ queryKey: userKeys.me })
}

/**
 * Loads the lists again that may have missed a change. After a lost connection, these are all lists.
 * Otherwise, these are only the lists that were loading when the stream began.
 */
function refreshLists(queryClient: QueryClient, isAgain: boolean): void {
  for (const queryKey of [conversationKeys.lists, conversationKeys.inSandboxes])
    void queryClient.invalidateQueries({
      queryKey,
      predicate: ({ state }) => isAgain || state.fetchStatus === 'fetching',
    })
}

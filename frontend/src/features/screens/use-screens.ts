import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { runtimePluginsQuery, type Screen } from '@/api/sandboxes/runtime-plugins'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import type { ConversationState } from '@/events/store'

const SCREENS: readonly Screen[] = ['vscode', 'desktop']

/** Returns whether the sandbox runs and the conversation has started in it. */
export function isSandboxRunning(state: ConversationState): boolean {
  return isAwake(state) && state.view.conversation?.start_status === 'READY'
}

/**
 * Returns whether the app server has a sandbox for the conversation. It has none while a task waits for its
 * start, and after an early failure of the start.
 */
function hasSandbox({ view }: ConversationState): boolean {
  const { conversation } = view
  return conversation?.start_status !== 'WORKING' && conversation?.sandbox_status !== 'MISSING'
}

/**
 * Returns the screens of the sandbox, also while it sleeps, starts or is archived. The app server knows them
 * from the last time that the sandbox ran, or from its image.
 */
export function useScreens(sandboxId: string | null): readonly Screen[] {
  const isRunning = useConversation(isSandboxRunning)
  const isKept = useConversation(hasSandbox)
  const { data, isError, refetch } = useQuery({
    ...runtimePluginsQuery(sandboxId ?? ''),
    enabled: sandboxId !== null && isKept,
  })
  // A sandbox that starts again may have another image, so the list is loaded again. Meanwhile, the old list
  // stays.
  useEffect(() => {
    if (sandboxId !== null && isRunning) void refetch()
  }, [sandboxId, isRunning, refetch])
  // If the list cannot be loaded, all screens are offered. The user sees the error when opening one of them.
  if (data === undefined) return isError && isRunning ? SCREENS : []
  const present = data.filter(({ status }) => status !== 'unavailable').map(({ name }) => name)
  return SCREENS.filter((name) => present.includes(name))
}

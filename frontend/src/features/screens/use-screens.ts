import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { runtimePluginsQuery, type Screen } from '@/api/sandboxes/runtime-plugins'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import type { ConversationState } from '@/events/store'

const SCREENS: readonly Screen[] = ['vscode', 'desktop']

/** Whether the sandbox runs and the conversation has started in it. */
export function isSandboxRunning(state: ConversationState): boolean {
  return isAwake(state) && state.view.conversation?.start_status === 'READY'
}

/** Whether the server keeps a sandbox: not while a task waits in line, and not after a start that failed early. */
function hasSandbox({ view }: ConversationState): boolean {
  const { conversation } = view
  return conversation?.start_status !== 'WORKING' && conversation?.sandbox_status !== 'MISSING'
}

/**
 * The screens that the sandbox has, also while it sleeps, starts or is archived. The server knows them from
 * the last time that it ran, or from its image.
 */
export function useScreens(sandboxId: string | null): readonly Screen[] {
  const isRunning = useConversation(isSandboxRunning)
  const isKept = useConversation(hasSandbox)
  const { data, isError, refetch } = useQuery({
    ...runtimePluginsQuery(sandboxId ?? ''),
    enabled: sandboxId !== null && isKept,
  })
  // It may come up with another image. What is shown stays while it is asked.
  useEffect(() => {
    if (sandboxId !== null && isRunning) void refetch()
  }, [sandboxId, isRunning, refetch])
  // What is wrong with a sandbox that runs is told where one of them is opened.
  if (data === undefined) return isError && isRunning ? SCREENS : []
  const present = data.filter(({ status }) => status !== 'unavailable').map(({ name }) => name)
  return SCREENS.filter((name) => present.includes(name))
}

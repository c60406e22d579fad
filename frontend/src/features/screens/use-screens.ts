import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { runtimePluginsQuery, type Screen } from '@/api/runtime-plugins'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'

const SCREENS: readonly Screen[] = ['vscode', 'desktop']

/** The screens that can be opened. They are not known of a sandbox that slept at first: opening one wakes it. */
export function useScreens(sandboxId: string | null): readonly Screen[] {
  const isReady = useConversation(({ view }) => view.conversation?.start_status === 'READY')
  const canTell = useConversation(isAwake) && isReady
  const [wasAsleep, setWasAsleep] = useState(false)
  // What was opened meanwhile stays while it is asked.
  if (isReady && !canTell && !wasAsleep) setWasAsleep(true)
  const { data: plugins, isError } = useQuery({
    ...runtimePluginsQuery(sandboxId ?? ''),
    enabled: canTell && sandboxId !== null,
  })
  if (sandboxId === null || !isReady) return []
  if (plugins === undefined) return wasAsleep || isError ? SCREENS : []
  const present = plugins.filter(({ status }) => status !== 'unavailable').map(({ name }) => name)
  return SCREENS.filter((name) => present.includes(name))
}

import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState, type KeyboardEvent } from 'react'
import { skillsQuery } from '@/api/agents/skills'
import { useConversation } from '@/events/use-conversation'
import { commandsOf, completionsOf, type Command } from './commands'

interface Props {
  conversationId: string
  text: string
  setText: (text: string) => void
}

/** The completion of `/name` in the composer. `handleKeyDown` returns whether it has handled the key. */
export function useCommands({ conversationId, text, setText }: Props) {
  const id = useId()
  const isReady = useConversation(({ view }) => view.conversation?.start_status === 'READY')
  const query = useQuery({ ...skillsQuery(conversationId), enabled: isReady && text.startsWith('/') })
  const commands = useMemo(() => commandsOf(query.data?.skills ?? []), [query.data])
  const [at, setAt] = useState(0)
  const [dismissed, setDismissed] = useState<string | null>(null)
  const found = dismissed === text ? [] : completionsOf(commands, text)
  const active = Math.min(at, found.length - 1)

  function pick({ trigger }: Command) {
    setText(`${trigger} `)
    setAt(0)
  }

  function handleKeyDown(event: KeyboardEvent): boolean {
    const command = found[active]
    if (command === undefined || event.nativeEvent.isComposing) return false
    // The name is complete, so Enter sends the message.
    if (event.key === 'Enter' && command.trigger === text) return false
    const actions: Record<string, () => void> = {
      ArrowDown: () => setAt((active + 1) % found.length),
      ArrowUp: () => setAt((active + found.length - 1) % found.length),
      Enter: () => pick(command),
      Tab: () => pick(command),
      Escape: () => setDismissed(text),
    }
    const action = actions[event.key]
    if (action === undefined || event.shiftKey) return false
    event.preventDefault()
    action()
    return true
  }

  return { id, found, active, pick, handleKeyDown }
}

import { ArrowUp, Play, Square } from 'lucide-react'
import { useEffect, useRef, type KeyboardEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useControlConversation } from '@/api/conversations/steering'
import { agentStatus, CAN_CONTINUE } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { GoalToggle } from '@/ui/form/goal-toggle'
import { IconButton } from '@/ui/form/icon-button'
import { useMediaQuery } from '@/lib/hooks/use-media-query'
import { CommandMenu } from './command-menu'
import { useComposerDraft } from './composer-draft'
import { useCommands } from './use-commands'
import { useGoalDraft } from './use-goal-draft'
import { useOutgoing } from './use-outgoing'

/** The field where the user writes. Messages can be sent at any time, also while the agent works. */
export function Composer() {
  const { t } = useTranslation()
  const { conversationId, text, setText } = useComposerDraft()
  const { send } = useOutgoing()
  const goal = useGoalDraft(conversationId)
  const status = useConversation(agentStatus)
  const control = useControlConversation(conversationId)
  const isTouch = useMediaQuery('(pointer: coarse)')
  const input = useRef<HTMLTextAreaElement>(null)
  const commands = useCommands({ conversationId, text, setText })
  const hasCommands = commands.found.length > 0
  const isRunning = status === 'running'
  useShortcuts({
    onFocus: () => input.current?.focus(),
    onStop: () => isRunning && !control.isPending && control.mutate('interrupt'),
  })

  function handleSend() {
    const trimmed = text.trim()
    if (trimmed === '' || goal.isPending) return
    if (goal.rounds === null) {
      send(trimmed)
      setText('')
    } else goal.set(trimmed, () => setText(''))
    input.current?.focus()
  }

  function handleKeyDown(event: KeyboardEvent) {
    if (commands.handleKeyDown(event)) return
    // While an input method composes a character, the Enter key is for the input method.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing || isTouch) return
    event.preventDefault()
    handleSend()
  }

  return (
    <>
      {goal.error && <ErrorState error={goal.error} className="mb-2" />}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          handleSend()
        }}
        className="relative flex items-end gap-2 rounded-xl border border-border-strong/60 bg-raised p-1.5 shadow-raised focus-within:border-accent focus-within:outline-2 focus-within:outline-accent/35"
      >
        {hasCommands && (
          <CommandMenu
            id={commands.id}
            commands={commands.found}
            active={commands.active}
            onPick={commands.pick}
          />
        )}
        <textarea
          ref={input}
          rows={1}
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={handleKeyDown}
          aria-label={t('chat.message')}
          aria-autocomplete="list"
          aria-controls={hasCommands ? commands.id : undefined}
          aria-activedescendant={hasCommands ? `${commands.id}-${commands.active}` : undefined}
          placeholder={t(isRunning ? 'chat.placeholder_running' : 'chat.placeholder')}
          className="field-sizing-content max-h-60 min-h-9 placeholder:truncate min-w-0 flex-1 resize-none bg-transparent px-2.5 py-1.5 text-base outline-none sm:text-sm"
        />
        {CAN_CONTINUE.has(status) && (
          <Button
            size="sm"
            icon={<Play aria-hidden className="size-3.5" />}
            isBusy={control.isPending}
            onClick={() => control.mutate('run')}
          >
            {t('chat.continue')}
          </Button>
        )}
        {isRunning && (
          <Button
            size="sm"
            icon={<Square aria-hidden className="size-3 fill-current" />}
            isBusy={control.isPending}
            title={t('chat.stop_hint')}
            onClick={() => control.mutate('interrupt')}
          >
            {t('chat.stop')}
          </Button>
        )}
        {goal.isPossible && <GoalToggle rounds={goal.rounds} onChange={goal.setRounds} />}
        <IconButton
          type="submit"
          size="sm"
          label={t('chat.send')}
          disabled={text.trim() === ''}
          icon={<ArrowUp aria-hidden className="size-4" />}
          className="bg-accent text-on-accent! hover:bg-accent-strong"
        />
      </form>
    </>
  )
}

/**
 * The Escape key focuses the composer, and Ctrl+. (⌘.) stops the agent. Keys that a menu or dialog has
 * handled are ignored.
 */
function useShortcuts({ onFocus, onStop }: { onFocus: () => void; onStop: () => void }) {
  useEffect(() => {
    function handleKeyDown(event: globalThis.KeyboardEvent) {
      if (event.defaultPrevented) return
      if (event.key === 'Escape' && document.querySelector('[role=dialog], [role=menu]') === null) onFocus()
      if (event.key !== '.' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      onStop()
    }
    window.addEventListener('keydown', handleKeyDown)
    return () => window.removeEventListener('keydown', handleKeyDown)
  })
}

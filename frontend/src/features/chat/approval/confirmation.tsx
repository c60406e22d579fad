import { Check, ShieldQuestion, X } from 'lucide-react'
import { useEffect, useId, useMemo, useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useRespondToConfirmation, type ConfirmationAnswer } from '@/api/approval/confirmation'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Input } from '@/ui/form/input'
import { MOD_KEY } from '@/ui/text/kbd'
import { useComposerDraft } from '../composer/composer-draft'
import { ConfirmationStep, type StepAnswer } from './confirmation-step'
import { pendingActions, type PendingAction } from './pending-actions'

/** The agent's question before it acts: the actions, their risks with the reasons, and the answers. */
export function Confirmation() {
  const isWaiting = useConversation((state) => agentStatus(state) === 'waiting_for_confirmation')
  const view = useConversation((state) => state.view)
  const actions = useMemo(() => (isWaiting ? pendingActions(view) : []), [isWaiting, view])
  if (actions.length === 0) return null
  // Another batch of actions is another question. The key then removes the text that the user typed for the
  // previous one.
  return <Question key={actions[0]?.event.id} actions={actions} />
}

type Answers = ReadonlyMap<string, StepAnswer>
const NO_ANSWERS: Answers = new Map()

/** Combines the answers for all steps, and the reason, into one answer for the server. */
function answerOf(action_ids: string[], answers: Answers, reason: string): ConfirmationAnswer {
  const approved_action_ids = action_ids.filter((id) => answers.get(id) === 'allow')
  if (approved_action_ids.length === action_ids.length) return { accept: true, action_ids }
  const refusal = { accept: false, reason, action_ids }
  return approved_action_ids.length === 0 ? refusal : { ...refusal, approved_action_ids }
}

function Question({ actions }: { actions: PendingAction[] }) {
  const { t } = useTranslation()
  const titleId = useId()
  const [isRejecting, setRejecting] = useState(false)
  const [answers, setAnswers] = useState<Answers>(NO_ANSWERS)
  const { conversationId } = useComposerDraft()
  const respond = useRespondToConfirmation(conversationId)
  const action_ids = actions.map(({ event }) => event.id)
  const count = actions.length
  const approve = () => respond.mutate({ accept: true, action_ids })
  const isChoosing = answers.size > 0
  useAnswerShortcuts({
    onApprove: () => !isRejecting && !isChoosing && !respond.isPending && approve(),
    onReject: () => !isChoosing && !respond.isPending && setRejecting(true),
  })
  const open = count - answers.size
  function choose(id: string, answer: StepAnswer) {
    setRejecting(false)
    setAnswers((before) => new Map([...before, [id, answer]]))
  }
  const isApproving = respond.isPending && respond.variables.accept
  return (
    <section
      aria-labelledby={titleId}
      className="mb-2 overflow-hidden rounded-xl border border-warning/50 bg-raised shadow-raised"
    >
      <h2 id={titleId} aria-live="polite" className="flex items-center gap-2 px-4 pt-3 text-sm font-medium">
        <ShieldQuestion aria-hidden className="size-4 shrink-0 text-warning" />
        {t('confirmation.title', { count })}
      </h2>
      <ul className="max-h-[35vh] space-y-3 overflow-y-auto px-4 py-3">
        {actions.map((action) => (
          <ConfirmationStep
            key={action.event.id}
            action={action}
            answer={answers.get(action.event.id) ?? null}
            // A single step is answered by the buttons below.
            onAnswer={count > 1 ? (answer) => choose(action.event.id, answer) : null}
          />
        ))}
      </ul>
      {respond.isError && <ErrorState error={respond.error} className="mx-4 mb-3" />}
      {isChoosing ? (
        <AnswerForm
          label={t('confirmation.send')}
          tone="primary"
          asksReason={[...answers.values()].includes('reject')}
          hint={open === 0 ? null : t('confirmation.open', { count: open })}
          isBusy={respond.isPending}
          onCancel={() => setAnswers(NO_ANSWERS)}
          onSubmit={(reason) => respond.mutate(answerOf(action_ids, answers, reason))}
        />
      ) : isRejecting ? (
        <AnswerForm
          label={t('confirmation.reject', { count })}
          tone="danger"
          asksReason
          hasFocus
          isBusy={respond.isPending}
          onCancel={() => setRejecting(false)}
          onSubmit={(reason) => respond.mutate({ accept: false, reason, action_ids })}
        />
      ) : (
        <div className="flex flex-wrap gap-2 border-t border-border bg-sunken/60 px-4 py-3">
          <Button
            size="sm"
            variant="primary"
            icon={<Check aria-hidden className="size-4" />}
            isBusy={isApproving && !respond.variables.remember}
            disabled={respond.isPending}
            aria-keyshortcuts="Control+Enter Meta+Enter"
            onClick={approve}
          >
            {t('confirmation.approve', { count })}
            <Keys>↵</Keys>
          </Button>
          <Button
            size="sm"
            isBusy={isApproving && respond.variables.remember}
            disabled={respond.isPending}
            title={t('confirmation.remember_hint')}
            onClick={() => respond.mutate({ accept: true, remember: true, action_ids })}
          >
            {t('confirmation.remember')}
          </Button>
          <Button
            size="sm"
            icon={<X aria-hidden className="size-4" />}
            disabled={respond.isPending}
            aria-keyshortcuts="Control+Backspace Meta+Backspace"
            onClick={() => setRejecting(true)}
          >
            {t('confirmation.reject', { count })}
            <Keys>⌫</Keys>
          </Button>
        </div>
      )}
    </section>
  )
}

function Keys({ children }: { children: string }) {
  return (
    <span aria-hidden className="text-2xs opacity-75 pointer-coarse:hidden">
      {MOD_KEY} {children}
    </span>
  )
}

/**
 * Ctrl+Enter (⌘↵) approves and Ctrl+Backspace rejects, unless there is text in the field that has the focus.
 */
function useAnswerShortcuts({ onApprove, onReject }: { onApprove: () => void; onReject: () => void }) {
  useEffect(() => {
    function handleKeyDown(event: globalThis.KeyboardEvent) {
      if (!(event.ctrlKey || event.metaKey) || event.repeat || isWriting(event.target)) return
      if (document.querySelector('[role=dialog], [role=menu]') !== null) return
      if (event.key === 'Enter') onApprove()
      else if (event.key === 'Backspace') onReject()
      else return
      event.preventDefault()
      event.stopPropagation()
    }
    // This listener runs first, because the composer sends its text at Enter.
    window.addEventListener('keydown', handleKeyDown, { capture: true })
    return () => window.removeEventListener('keydown', handleKeyDown, { capture: true })
  })
}

function isWriting(target: EventTarget | null): boolean {
  const isField = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement
  return isField && target.value !== ''
}

interface AnswerFormProps {
  label: string
  tone: 'primary' | 'danger'
  /** What the user must still do before the answer can be sent. */
  hint?: string | null
  asksReason: boolean
  hasFocus?: boolean
  isBusy: boolean
  onCancel: () => void
  onSubmit: (reason: string) => void
}

function AnswerForm(props: AnswerFormProps) {
  const { label, tone, hint = null, asksReason, hasFocus, isBusy, onCancel, onSubmit } = props
  const { t } = useTranslation()
  const [reason, setReason] = useState('')
  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    if (hint === null) onSubmit(reason.trim())
  }
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a shortcut for all in it
    <form
      onSubmit={handleSubmit}
      onKeyDown={(event) => event.key === 'Escape' && onCancel()}
      className="flex flex-wrap items-center gap-2 border-t border-border bg-sunken/60 px-4 py-3"
    >
      {asksReason && (
        <Input
          // eslint-disable-next-line jsx-a11y/no-autofocus -- the user has just asked for this field
          autoFocus={hasFocus}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          aria-label={t('confirmation.reason')}
          placeholder={t('confirmation.reason_placeholder')}
          className="h-8 min-w-48 flex-1 max-sm:basis-full"
        />
      )}
      <Button type="submit" size="sm" variant={tone} isBusy={isBusy} disabled={hint !== null}>
        {label}
      </Button>
      <Button size="sm" variant="ghost" disabled={isBusy} onClick={onCancel}>
        {t('confirmation.cancel')}
      </Button>
      {hint !== null && (
        <p role="status" className="text-xs text-muted">
          {hint}
        </p>
      )}
    </form>
  )
}

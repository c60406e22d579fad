import clsx from 'clsx'
import { Check, ShieldQuestion, X } from 'lucide-react'
import { useId, useMemo, useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useRespondToConfirmation } from '@/api/confirmation'
import { agentStatus } from '@/events/status'
import type { AskedAction } from '@/events/tasks'
import { useConversation } from '@/events/use-conversation'
import { Badge, type Tone } from '@/ui/badge'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { Input } from '@/ui/input'
import { useComposerDraft } from './composer-draft'
import { pendingActions, type PendingAction } from './pending-confirmation'
import { Wanted } from './wanted'

const TONES: Record<string, Tone> = { HIGH: 'danger', MEDIUM: 'warning', UNKNOWN: 'warning', LOW: 'neutral' }

/** The agent asks before it acts: what it wants to do, how risky that is and why, and the answers. */
export function Confirmation() {
  const isWaiting = useConversation((state) => agentStatus(state) === 'waiting_for_confirmation')
  const view = useConversation((state) => state.view)
  const actions = useMemo(() => (isWaiting ? pendingActions(view) : []), [isWaiting, view])
  if (actions.length === 0) return null
  // Another batch is another question: nothing that was typed for this one stays.
  return <Question key={actions[0]?.event.id} actions={actions} />
}

function Question({ actions }: { actions: PendingAction[] }) {
  const { t } = useTranslation()
  const titleId = useId()
  const [isRejecting, setRejecting] = useState(false)
  const { conversationId } = useComposerDraft()
  const respond = useRespondToConfirmation(conversationId)
  const action_ids = actions.map(({ event }) => event.id)
  const isApproving = respond.isPending && respond.variables.accept
  return (
    <section
      aria-labelledby={titleId}
      className="mb-2 overflow-hidden rounded-xl border border-warning/50 bg-raised shadow-raised"
    >
      <h2 id={titleId} aria-live="polite" className="flex items-center gap-2 px-4 pt-3 text-sm font-medium">
        <ShieldQuestion aria-hidden className="size-4 shrink-0 text-warning" />
        {t('confirmation.title', { count: actions.length })}
      </h2>
      <ul className="max-h-[35vh] space-y-3 overflow-y-auto px-4 py-3">
        {actions.map((action) => (
          <Step key={action.event.id} action={action} />
        ))}
      </ul>
      {respond.isError && <ErrorState error={respond.error} className="mx-4 mb-3" />}
      {isRejecting ? (
        <RejectForm
          isBusy={respond.isPending}
          onCancel={() => setRejecting(false)}
          onReject={(reason) => respond.mutate({ accept: false, reason, action_ids })}
        />
      ) : (
        <div className="flex flex-wrap gap-2 border-t border-border bg-sunken/60 px-4 py-3">
          <Button
            size="sm"
            variant="primary"
            icon={<Check aria-hidden className="size-4" />}
            isBusy={isApproving && !respond.variables.remember}
            disabled={respond.isPending}
            onClick={() => respond.mutate({ accept: true, action_ids })}
          >
            {t('confirmation.approve')}
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
            onClick={() => setRejecting(true)}
          >
            {t('confirmation.reject')}
          </Button>
        </div>
      )}
    </section>
  )
}

function Step({ action: { event, risk, reasons, ...action } }: { action: PendingAction }) {
  const { t } = useTranslation()
  const asks = useConversation((state) => state.view.tasks.get(event.id)?.asks) ?? NOTHING
  return (
    <li className={clsx(!action.asks && 'text-muted')}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Badge tone={TONES[risk] ?? 'neutral'}>{t(`confirmation.risk.${risk}`)}</Badge>
        <span className="min-w-0 text-sm wrap-anywhere">{saidSummary(event) ?? event.tool_name}</span>
      </div>
      {reasons.length > 0 && (
        <p className="mt-1 text-xs text-muted">
          {t('confirmation.because', { reasons: reasons.join('; ') })}
        </p>
      )}
      {asks.length === 0 ? (
        <Wanted {...event} />
      ) : (
        asks.map((asked, index) => <AskedBySubAgent key={index} asked={asked} />)
      )}
    </li>
  )
}

const NOTHING: readonly AskedAction[] = []

/** The task itself was approved before: now it is what its sub-agent wants to do. */
function AskedBySubAgent({ asked }: { asked: AskedAction }) {
  const { t } = useTranslation()
  return (
    <div className="mt-1.5">
      <p className="text-xs text-muted">
        {t('confirmation.sub_agent', { what: asked.summary ?? asked.tool_name })}
      </p>
      <Wanted {...asked} />
    </div>
  )
}

/** What the model calls it; without that the runtime repeats the arguments, which stand below anyway. */
function saidSummary({ summary, tool_name }: PendingAction['event']): string | null {
  return summary && !summary.startsWith(`${tool_name}: {`) ? summary : null
}

interface RejectFormProps {
  isBusy: boolean
  onCancel: () => void
  onReject: (reason: string) => void
}

function RejectForm({ isBusy, onCancel, onReject }: RejectFormProps) {
  const { t } = useTranslation()
  const [reason, setReason] = useState('')
  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    onReject(reason.trim())
  }
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a shortcut for all in it
    <form
      onSubmit={handleSubmit}
      onKeyDown={(event) => event.key === 'Escape' && onCancel()}
      className="flex flex-wrap gap-2 border-t border-border bg-sunken/60 px-4 py-3"
    >
      <Input
        // eslint-disable-next-line jsx-a11y/no-autofocus -- the user has just asked for this field
        autoFocus
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        aria-label={t('confirmation.reason')}
        placeholder={t('confirmation.reason_placeholder')}
        className="h-8 min-w-48 flex-1"
      />
      <Button type="submit" size="sm" variant="danger" isBusy={isBusy}>
        {t('confirmation.reject')}
      </Button>
      <Button size="sm" variant="ghost" disabled={isBusy} onClick={onCancel}>
        {t('confirmation.cancel')}
      </Button>
    </form>
  )
}

import clsx from 'clsx'
import { Check, X } from 'lucide-react'
import { RadioGroup } from 'radix-ui'
import { useTranslation } from 'react-i18next'
import type { AskedAction } from '@/events/fold/tasks'
import { useConversation } from '@/events/use-conversation'
import { Badge, type Tone } from '@/ui/feedback/badge'
import type { PendingAction } from './pending-actions'
import { ActionPreview } from './action-preview'

const TONES: Record<string, Tone> = { HIGH: 'danger', MEDIUM: 'warning', UNKNOWN: 'warning', LOW: 'neutral' }

export type StepAnswer = 'allow' | 'reject'

interface ConfirmationStepProps {
  action: PendingAction
  answer: StepAnswer | null
  /** Called with the answer for this step. Null if there is only one step. */
  onAnswer: ((answer: StepAnswer) => void) | null
}

/** One waiting action: what the agent wants to do, the risk, and the user's answer for this action alone. */
export function ConfirmationStep({
  action: { event, risk, reasons, ...action },
  answer,
  onAnswer,
}: ConfirmationStepProps) {
  const { t } = useTranslation()
  const said = saidSummary(event) ?? event.tool_name
  const asks = useConversation((state) => state.view.tasks.get(event.id)?.asks) ?? NOTHING
  return (
    <li className={clsx(!action.asks && 'text-muted')}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Badge tone={TONES[risk] ?? 'neutral'}>{t(`confirmation.risk.${risk}`)}</Badge>
        <span className="min-w-0 text-sm wrap-anywhere">{said}</span>
        {onAnswer && <Choice about={said} answer={answer} onAnswer={onAnswer} />}
      </div>
      {reasons.length > 0 && (
        <p className="mt-1 text-xs text-muted">
          {t('confirmation.because', { reasons: reasons.join('; ') })}
        </p>
      )}
      {asks.length === 0 ? (
        <ActionPreview {...event} />
      ) : (
        asks.map((asked, index) => <AskedBySubAgent key={index} asked={asked} />)
      )}
    </li>
  )
}

interface ChoiceProps {
  about: string
  answer: StepAnswer | null
  onAnswer: (answer: StepAnswer) => void
}

function Choice({ about, answer, onAnswer }: ChoiceProps) {
  const { t } = useTranslation()
  return (
    <RadioGroup.Root
      aria-label={t('confirmation.answer_to', { what: about })}
      orientation="horizontal"
      value={answer ?? ''}
      onValueChange={(value) => onAnswer(value as StepAnswer)}
      className="ml-auto flex shrink-0 gap-1.5"
    >
      {ANSWERS.map(({ value, icon: Icon, checked }) => (
        <RadioGroup.Item
          key={value}
          value={value}
          className={clsx(
            'flex h-7 items-center gap-1 rounded-md border border-border-strong/60 px-2 text-xs text-text',
            'hover:bg-hover pointer-coarse:h-9 pointer-coarse:px-3',
            checked,
          )}
        >
          <Icon aria-hidden className="size-3.5" />
          {t(`confirmation.step.${value}`)}
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  )
}

const ANSWERS = [
  {
    value: 'allow',
    icon: Check,
    checked:
      'data-[state=checked]:border-success data-[state=checked]:bg-success-soft data-[state=checked]:text-success',
  },
  {
    value: 'reject',
    icon: X,
    checked:
      'data-[state=checked]:border-danger data-[state=checked]:bg-danger-soft data-[state=checked]:text-danger',
  },
] as const

const NOTHING: readonly AskedAction[] = []

/** An action that a sub-agent wants to do. The task itself was approved before. */
function AskedBySubAgent({ asked }: { asked: AskedAction }) {
  const { t } = useTranslation()
  return (
    <div className="mt-1.5">
      <p className="text-xs text-muted">
        {t('confirmation.sub_agent', { what: asked.summary ?? asked.tool_name })}
      </p>
      <ActionPreview {...asked} />
    </div>
  )
}

/**
 * Returns the model's summary of the action. Returns null if the model wrote none: the runtime then repeats
 * the arguments, which are shown below anyway.
 */
function saidSummary({ summary, tool_name }: PendingAction['event']): string | null {
  return summary && !summary.startsWith(`${tool_name}: {`) ? summary : null
}

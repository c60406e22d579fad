import clsx from 'clsx'
import { ChevronRight, Webhook } from 'lucide-react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { EventOf } from '@/events/wire/types'
import { formatDateTime } from '@/lib/text/time'
import { hookVerdict, type HookVerdict } from './hook-verdict'
import { useRowState } from './row-state'

const TONES: Record<HookVerdict, string> = {
  blocked: 'text-warning',
  failed: 'text-danger',
  informed: '',
  passed: '',
}

/**
 * A hook that ran: its name and its decision. When the user opens it, it shows the command and its output.
 */
export function HookRow({ event }: { event: EventOf<'HookExecutionEvent'> }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useRowState('hook', false)
  const bodyId = useId()
  const verdict = hookVerdict(event)
  return (
    <div className="text-xs text-muted">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={bodyId}
        title={formatDateTime(event.timestamp)}
        onClick={() => setIsOpen(!isOpen)}
        className="flex max-w-full items-center gap-1.5 rounded-sm py-1 hover:text-text"
      >
        <Webhook aria-hidden className="size-3.5 shrink-0" />
        <span className={clsx('truncate', TONES[verdict])}>
          {t(event.tool_name ? 'hook.line_tool' : 'hook.line', {
            point: event.hook_event_type,
            tool: event.tool_name,
            verdict: t(`hook.${verdict}`),
          })}
        </span>
        <ChevronRight
          aria-hidden
          className={clsx('size-3.5 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
        />
      </button>
      {isOpen && <HookDetails id={bodyId} event={event} />}
    </div>
  )
}

function HookDetails({ id, event }: { id: string; event: EventOf<'HookExecutionEvent'> }) {
  const { t } = useTranslation()
  const reason = event.reason ?? event.error
  const output = [event.stdout, event.stderr].filter(Boolean).join('\n')
  return (
    <dl
      id={id}
      className="mt-1 max-h-96 space-y-1.5 overflow-y-auto rounded-lg border border-border bg-sunken px-4 py-2.5"
    >
      <Detail name={`${t('hook.command')}, ${t('hook.exit_code', { code: event.exit_code })}`} isCode>
        {event.hook_command}
      </Detail>
      <Detail name={t('hook.reason')}>{reason}</Detail>
      <Detail name={t('hook.context')}>{event.additional_context}</Detail>
      <Detail name={t('hook.output')} isCode>
        {output}
      </Detail>
    </dl>
  )
}

interface DetailProps {
  name: string
  isCode?: boolean
  children: string | null | undefined
}

function Detail({ name, isCode, children }: DetailProps) {
  if (!children?.trim()) return null
  return (
    <div>
      <dt className="font-medium">{name}</dt>
      <dd className={clsx('wrap-anywhere whitespace-pre-wrap', isCode && 'font-mono')}>{children.trim()}</dd>
    </div>
  )
}

import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useConversation } from '@/events/use-conversation'
import type { ConversationView } from '@/events/fold/reduce'
import { isAwake } from '@/events/status'
import { useNow } from '@/lib/hooks/use-now'

/** Explains why no reply comes: the model could not be called. Says when the next call happens. */
export function RetryLine() {
  const retry = useConversation((state) =>
    state.connection.state === 'open' && isAwake(state) ? state.view.retry : null,
  )
  return retry && <Countdown retry={retry} />
}

function Countdown({ retry: { reason, at } }: { retry: NonNullable<ConversationView['retry']> }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const seconds = Math.floor((at - useNow(true)) / 1000)
  const why = t(`retry.why.${reason.code}`, { defaultValue: t('retry.why.other') })
  const attempt = t('retry.attempt', { attempt: reason.next_attempt, total: reason.max_attempts })
  const next = seconds > 0 ? t('retry.in', { seconds }) : t('retry.now', { model: reason.model })
  return (
    <div className="px-1 pb-1.5 text-xs text-muted">
      <p className="flex flex-wrap items-baseline gap-x-2">
        {/* Only the first text is announced: a screen reader should not read a countdown every second. */}
        <span role="status" className="sr-only">
          {why} {attempt}
        </span>
        <span aria-hidden className="text-warning tabular-nums">
          {t('retry.line', { why, next, attempt })}
        </span>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
          className="rounded-sm text-accent hover:underline"
        >
          {t(isOpen ? 'retry.hide' : 'retry.show')}
        </button>
      </p>
      {isOpen && (
        <div className="mt-1 rounded-md border border-border bg-sunken px-3 py-2">
          <p className="max-h-32 overflow-y-auto wrap-anywhere whitespace-pre-wrap">{reason.detail}</p>
          <p className="mt-1 text-2xs">
            {t('retry.next_model')} <span className="font-mono">{reason.model}</span>
          </p>
        </div>
      )}
    </div>
  )
}

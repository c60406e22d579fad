import { ChevronRight, Gauge } from 'lucide-react'
import clsx from 'clsx'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { CriticResult } from '@/events/wire/types'
import { useRowState } from './row-state'

/** A critic's judgement of the work so far. It shows the score, and the reason when the user opens it. */
export function CriticMark({ result }: { result: CriticResult | null | undefined }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useRowState('critic', false)
  const bodyId = useId()
  if (!result) return null
  const score = t('critic.score', { percent: Math.round(result.score * 100) })
  const message = result.message.trim()
  return (
    <div className="mt-1.5 text-xs text-muted">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={bodyId}
        disabled={message === ''}
        title={t('critic.hint')}
        onClick={() => setIsOpen(!isOpen)}
        className="flex items-center gap-1.5 rounded-sm py-1 tabular-nums enabled:hover:text-text"
      >
        <Gauge aria-hidden className="size-3.5" />
        {score}
        {message !== '' && (
          <ChevronRight
            aria-hidden
            className={clsx('size-3.5 transition-transform', isOpen && 'rotate-90')}
          />
        )}
      </button>
      {isOpen && (
        <p
          id={bodyId}
          className="max-h-60 overflow-y-auto border-l-2 border-border pl-3 wrap-anywhere whitespace-pre-wrap"
        >
          {message}
        </p>
      )}
    </div>
  )
}

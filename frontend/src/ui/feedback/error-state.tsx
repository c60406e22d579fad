import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { Notice } from './notice'
import { WithCode } from '@/ui/text/with-code'

/** What ApiError and any Error have to say; `ui` does not know `api`. */
interface ExplainedError {
  message?: string
  fix?: string | null
  requestId?: string | null
  /** When a limit that is reached has room again, ISO 8601. */
  freesAt?: string | null
}

export interface ErrorStateProps {
  error: unknown
  /** What failed, as a short sentence. */
  title?: string
  onRetry?: () => void
  className?: string
}

/** A failure with its cause, its fix where the server named one, and a way to try again. */
export function ErrorState({ error, title, onRetry, className }: ErrorStateProps) {
  const { t, i18n } = useTranslation()
  const { message, fix, requestId, freesAt } = explain(error)
  return (
    <Notice
      tone="danger"
      className={className}
      title={title ?? message}
      action={
        onRetry && (
          <Button size="sm" icon={<RotateCw className="size-3.5" />} onClick={onRetry}>
            {t('action.retry')}
          </Button>
        )
      }
    >
      {title && <p>{message}</p>}
      {fix && (
        <p className="mt-1 text-text">
          <WithCode text={fix} />
        </p>
      )}
      {freesAt && (
        <p className="mt-1 text-text">
          {t('error.frees_at', {
            time: new Date(freesAt).toLocaleString(i18n.language, {
              dateStyle: 'medium',
              timeStyle: 'short',
            }),
          })}
        </p>
      )}
      {requestId && <p className="mt-1 font-mono text-2xs">{t('error.request_id', { id: requestId })}</p>}
    </Notice>
  )
}

function explain(error: unknown): ExplainedError {
  return typeof error === 'object' && error !== null ? error : { message: String(error) }
}

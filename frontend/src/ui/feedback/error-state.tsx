import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { Notice } from './notice'
import { WithCode } from '@/ui/text/with-code'

/**
 * The explanations that an ApiError or any other Error can have. The type is defined here because `ui` must
 * not import `api`.
 */
interface ExplainedError {
  message?: string
  fix?: string | null
  requestId?: string | null
  /** The time in ISO 8601 at which a reached limit allows requests again. */
  freesAt?: string | null
}

export interface ErrorStateProps {
  error: unknown
  /** What failed, as a short sentence. */
  title?: string
  onRetry?: () => void
  className?: string
}

/**
 * Shows a failure with its cause, with its fix if the server named one, and with a retry button if `onRetry`
 * is given.
 */
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

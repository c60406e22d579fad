import { useTranslation } from 'react-i18next'
import { useRevalidator, useRouteError } from 'react-router'
import { isMissingPart } from '@/lib/browser/reload-once'
import { ErrorState } from '@/ui/feedback/error-state'
import { MissingPart } from '@/ui/feedback/missing-part'

/** Shown in place of a page that crashed or could not be loaded. The shell around the page stays. */
export function RouteError() {
  const { t } = useTranslation()
  const error = useRouteError()
  const { revalidate } = useRevalidator()
  return (
    <div className="mx-auto w-full max-w-2xl p-6">
      {isMissingPart(error) ? (
        <MissingPart />
      ) : (
        <ErrorState error={error} title={t('error.boundary')} onRetry={() => void revalidate()} />
      )}
    </div>
  )
}

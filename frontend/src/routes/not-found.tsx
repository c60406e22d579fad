import { Anchor } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { buttonClass } from '@/ui/form/button'
import { EmptyState } from '@/ui/feedback/empty-state'

export function NotFoundRoute() {
  const { t } = useTranslation()
  useDocumentTitle(t('not_found.title'))
  return (
    <div className="grid min-h-full place-items-center">
      <EmptyState
        icon={<Anchor />}
        title={<h1>{t('not_found.title')}</h1>}
        action={
          <Link to="/" className={buttonClass('secondary')}>
            {t('not_found.home')}
          </Link>
        }
      >
        {t('not_found.text')}
      </EmptyState>
    </div>
  )
}

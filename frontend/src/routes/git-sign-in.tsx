import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, Navigate, useSearchParams } from 'react-router'
import { gitSignInQuery } from '@/api/git/git-sign-in'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { buttonClass } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'

const SECTION = '/settings/git-hosts'
const ANSWER_FIELDS = ['state', 'code', 'error'] as const

/**
 * The page to which a git host redirects the browser after a sign-in. It sends the data from the address to
 * the app server at once.
 */
export function GitSignInRoute() {
  const { t } = useTranslation()
  const [search] = useSearchParams()
  const answer = Object.fromEntries(
    ANSWER_FIELDS.flatMap((name) => (search.get(name) ? [[name, search.get(name)!]] : [])),
  )
  const query = useQuery(gitSignInQuery(answer))
  useDocumentTitle(t('git_hosts.title'))

  if (query.isSuccess) return <Navigate to={SECTION} replace />
  return (
    <div className="mx-auto flex max-w-xl flex-col items-start gap-4 px-4 py-12 sm:px-8">
      {query.isPending ? (
        <SkeletonList rows={1} label={t('git_sign_in.connecting')} className="h-16 w-full" />
      ) : (
        <>
          <ErrorState error={query.error} title={t('git_sign_in.failed')} className="w-full" />
          <Link to={SECTION} replace className={buttonClass()}>
            {t('git_sign_in.back')}
          </Link>
        </>
      )}
    </div>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, Navigate, useSearchParams } from 'react-router'
import { mcpSignInQuery } from '@/api/agents/mcp-servers'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { buttonClass } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'

const SECTION = '/settings/mcp-servers'
const ANSWER_FIELDS = ['state', 'code', 'error', 'iss'] as const

/**
 * The page to which an authorization server redirects the browser after a sign-in. It sends the data from the
 * address to the app server at once.
 */
export function McpSignInRoute() {
  const { t } = useTranslation()
  const [search] = useSearchParams()
  const answer = Object.fromEntries(
    ANSWER_FIELDS.flatMap((name) => (search.get(name) ? [[name, search.get(name)!]] : [])),
  )
  const query = useQuery(mcpSignInQuery(answer))
  useDocumentTitle(t('mcp_servers.title'))

  if (query.isSuccess) return <Navigate to={SECTION} replace />
  return (
    <div className="mx-auto flex max-w-xl flex-col items-start gap-4 px-4 py-12 sm:px-8">
      {query.isPending ? (
        <SkeletonList rows={1} label={t('mcp_servers.connecting')} className="h-16 w-full" />
      ) : (
        <>
          <ErrorState error={query.error} title={t('mcp_servers.sign_in_failed')} className="w-full" />
          <Link to={SECTION} replace className={buttonClass()}>
            {t('mcp_servers.back')}
          </Link>
        </>
      )}
    </div>
  )
}

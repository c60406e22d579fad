import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleSlash, MoonStar } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { skillsQuery } from '@/api/agents/skills'
import { SKILL_ORIGINS, type SkillFinding, type SkillOrigin } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'

/**
 * All files that the app server checked for the agent's knowledge. Says whether each file was loaded, and
 * why.
 */
export function Knowledge({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const query = useQuery(skillsQuery(conversationId))
  if (query.isPending) return <SkeletonList rows={4} label={t('knowledge.loading')} />
  if (query.isError) return <KnowledgeError error={query.error} onRetry={() => void query.refetch()} />
  const byOrigin = SKILL_ORIGINS.map((origin) => ({
    origin,
    findings: query.data.report.filter((each) => each.origin === origin),
  }))
  const empty = byOrigin.filter(({ findings }) => findings.length === 0)
  return (
    <div className="flex flex-col gap-6">
      {byOrigin
        .filter(({ findings }) => findings.length > 0)
        .map((group) => (
          <Origin key={group.origin} {...group} />
        ))}
      {empty.length > 0 && (
        <p className="text-sm text-muted">
          {t('knowledge.nothing', {
            origins: empty.map(({ origin }) => t(`knowledge.origin.${origin}`)).join(', '),
          })}
        </p>
      )}
    </div>
  )
}

function Origin({ origin, findings }: { origin: SkillOrigin; findings: SkillFinding[] }) {
  const { t } = useTranslation()
  return (
    <section aria-labelledby={`knowledge-${origin}`}>
      <h3 id={`knowledge-${origin}`} className="mb-2 text-sm font-semibold">
        {t(`knowledge.origin.${origin}`)}
      </h3>
      <ul className="divide-y divide-border rounded-lg border border-border">
        {findings.map((finding) => (
          <Finding key={`${finding.path} ${finding.reason}`} finding={finding} />
        ))}
      </ul>
    </section>
  )
}

function Finding({ finding }: { finding: SkillFinding }) {
  const { t } = useTranslation()
  return (
    <li className="px-3 py-2.5">
      <div className="flex items-start justify-between gap-3">
        <p className="min-w-0 text-sm font-medium wrap-anywhere">{finding.name ?? fileName(finding.path)}</p>
        {finding.is_loaded ? (
          <Badge tone="success" icon={<CircleCheck aria-hidden />}>
            {t('knowledge.loaded')}
          </Badge>
        ) : (
          <Badge icon={<CircleSlash aria-hidden />}>{t('knowledge.left_out')}</Badge>
        )}
      </div>
      <p className="text-sm wrap-anywhere text-muted">{finding.reason}</p>
      {finding.path !== finding.name && (
        <p className="mt-0.5 font-mono text-xs wrap-anywhere text-muted">{finding.path}</p>
      )}
    </li>
  )
}

/** A sleeping sandbox is normal, so it is not shown as an error. */
function KnowledgeError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation()
  if (!isApiError(error) || error.status !== 409)
    return <ErrorState title={t('knowledge.failed')} error={error} onRetry={onRetry} />
  return (
    <EmptyState icon={<MoonStar />} title={t('knowledge.asleep')}>
      {error.detail}
    </EmptyState>
  )
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

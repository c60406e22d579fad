import { useQuery } from '@tanstack/react-query'
import { ArrowUpFromLine } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type GitPush, gitPushesQuery } from '@/api/git/git-changes'
import { Badge, type Tone } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'

const SHOWN_AT_FIRST = 3
const SHORT = 7

const TONES: Record<GitPush['outcome'], Tone> = {
  accepted: 'success',
  rejected: 'danger',
  refused: 'warning',
  unknown: 'neutral',
}

export interface PushesProps {
  conversationId: string
  /** Whether each push shows the name of its repository. */
  namesRepository: boolean
}

/** The pushes of the agent to the git host, also failed ones. Shows nothing if there are no pushes. */
export function Pushes({ conversationId, namesRepository }: PushesProps) {
  const { t } = useTranslation()
  const query = useQuery(gitPushesQuery(conversationId))
  const [showsAll, setShowsAll] = useState(false)
  if (query.isError && !query.data)
    return <ErrorState className="m-3" title={t('pushes.failed')} error={query.error} />
  const pushes = query.data ?? []
  if (pushes.length === 0) return null
  return (
    <section aria-label={t('pushes.title')} className="border-b border-border px-3 py-2">
      <h3 className="mb-1 flex items-center gap-2 text-sm text-muted">
        <ArrowUpFromLine aria-hidden className="size-4" />
        {t('pushes.title')}
      </h3>
      <ul className="flex flex-col gap-1.5">
        {(showsAll ? pushes : pushes.slice(0, SHOWN_AT_FIRST)).map((push) => (
          <PushRow key={push.id} push={push} namesRepository={namesRepository} />
        ))}
      </ul>
      {!showsAll && pushes.length > SHOWN_AT_FIRST && (
        <Button size="sm" className="mt-2" onClick={() => setShowsAll(true)}>
          {t('pushes.show_all', { count: pushes.length })}
        </Button>
      )}
    </section>
  )
}

function PushRow({ push, namesRepository }: { push: GitPush; namesRepository: boolean }) {
  const { t } = useTranslation()
  const isDeletion = /^0+$/.test(push.new_commit)
  return (
    <li className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-sm">
      <Badge tone={TONES[push.outcome]}>{t(`pushes.outcomes.${push.outcome}`)}</Badge>
      {namesRepository && (
        <span className="text-xs wrap-anywhere text-muted">{push.repository.replace(/^[^/]+\//, '')}</span>
      )}
      <span className="font-mono text-xs wrap-anywhere" title={push.repository}>
        {push.ref.replace(/^refs\/(heads\/)?/, '')}
      </span>
      <span className="font-mono text-xs text-muted">
        {isDeletion ? t('pushes.deletion') : push.new_commit.slice(0, SHORT)}
      </span>
      {push.reason && <span className="basis-full text-muted wrap-anywhere">{push.reason}</span>}
    </li>
  )
}

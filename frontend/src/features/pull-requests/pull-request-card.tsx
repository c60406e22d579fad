import { CircleCheck, CircleDashed, CircleX, ExternalLink, RefreshCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { type PullRequest, useAskAgent, useMarkReady, useRefreshPullRequest } from '@/api/git/pull-requests'
import { Badge, type Tone } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { IconButton } from '@/ui/form/icon-button'

type Check = PullRequest['checks'][number]

const STATE_TONES: Record<PullRequest['state'], Tone> = {
  open: 'success',
  merged: 'accent',
  closed: 'neutral',
}

const VERDICT_TONES: Record<PullRequest['reviews'][number]['verdict'], Tone> = {
  approved: 'success',
  changes_requested: 'warning',
  commented: 'neutral',
}

export interface PullRequestCardProps {
  conversationId: string
  pullRequest: PullRequest
  isOwn: boolean
}

/** One pull request in the state that its host last reported. */
export function PullRequestCard({ conversationId, pullRequest, isOwn }: PullRequestCardProps) {
  const { t } = useTranslation()
  const refresh = useRefreshPullRequest(conversationId)
  const markReady = useMarkReady(conversationId)
  const { state, is_draft, number, repository } = pullRequest
  const isOpen = state === 'open'
  return (
    <Card className="flex flex-col gap-3 p-4">
      <header className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <a
            href={pullRequest.url}
            target="_blank"
            rel="noreferrer"
            className="font-medium wrap-anywhere hover:underline"
          >
            {pullRequest.title} <span className="text-muted">#{number}</span>
            <ExternalLink aria-label={t('pull_requests.opens_new_tab')} className="ml-1 inline size-3.5" />
          </a>
          <p className="mt-1 font-mono text-xs wrap-anywhere text-muted">
            {t('pull_requests.branches', { repository, head: pullRequest.head, base: pullRequest.base })}
          </p>
        </div>
        {isOwn && (
          <IconButton
            size="sm"
            label={t('pull_requests.refresh')}
            icon={<RefreshCw className={refresh.isPending ? 'size-4 animate-spin' : 'size-4'} />}
            onClick={() => refresh.mutate(pullRequest.id)}
          />
        )}
      </header>
      <p className="flex flex-wrap gap-1.5">
        <Badge tone={is_draft && isOpen ? 'neutral' : STATE_TONES[state]}>
          {t(is_draft && isOpen ? 'pull_requests.state_draft' : `pull_requests.state_${state}`)}
        </Badge>
        {isOpen && <MergeBadge mergeability={pullRequest.mergeability} />}
        {pullRequest.reviews.map((review) => (
          <Badge key={review.author} tone={VERDICT_TONES[review.verdict]}>
            {t(`pull_requests.verdict_${review.verdict}`, { author: review.author })}
          </Badge>
        ))}
      </p>
      {pullRequest.problem !== null && (
        <p role="alert" className="text-sm text-danger">
          {t('pull_requests.problem', { why: pullRequest.problem })}
        </p>
      )}
      <Checks checks={pullRequest.checks} />
      {isOwn && isOpen && (
        <div className="flex flex-wrap gap-2">
          <AgentButtons conversationId={conversationId} pullRequest={pullRequest} />
          {is_draft && (
            <Button size="sm" isBusy={markReady.isPending} onClick={() => markReady.mutate(pullRequest.id)}>
              {t('pull_requests.mark_ready')}
            </Button>
          )}
        </div>
      )}
    </Card>
  )
}

function MergeBadge({ mergeability }: Pick<PullRequest, 'mergeability'>) {
  const { t } = useTranslation()
  if (mergeability === 'unknown') return null
  const tones: Record<typeof mergeability, Tone> = {
    clean: 'success',
    conflicts: 'danger',
    blocked: 'warning',
    checking: 'neutral',
  }
  return <Badge tone={tones[mergeability]}>{t(`pull_requests.merge_${mergeability}`)}</Badge>
}

function Checks({ checks }: { checks: Check[] }) {
  const { t } = useTranslation()
  if (checks.length === 0) return null
  return (
    <ul aria-label={t('pull_requests.checks')} className="flex flex-col gap-1 text-sm">
      {checks.map((check, index) => (
        <li key={`${check.name} ${index}`} className="flex items-center gap-2">
          <CheckIcon state={check.state} />
          {check.url ? (
            <a href={check.url} target="_blank" rel="noreferrer" className="truncate hover:underline">
              {check.name}
            </a>
          ) : (
            <span className="truncate">{check.name}</span>
          )}
          {check.summary && <span className="truncate text-muted">{check.summary}</span>}
        </li>
      ))}
    </ul>
  )
}

function CheckIcon({ state }: Pick<Check, 'state'>) {
  const { t } = useTranslation()
  const label = t(`pull_requests.check_${state}`)
  const size = 'size-4 shrink-0'
  if (state === 'passed') return <CircleCheck aria-label={label} className={`${size} text-success`} />
  if (state === 'failed') return <CircleX aria-label={label} className={`${size} text-danger`} />
  return <CircleDashed aria-label={label} className={`${size} text-muted`} />
}

function AgentButtons({
  conversationId,
  pullRequest,
}: Pick<PullRequestCardProps, 'conversationId' | 'pullRequest'>) {
  const { t } = useTranslation()
  const ask = useAskAgent(conversationId)
  const { id, unresolved_threads, is_review_being_addressed } = pullRequest
  const failing = pullRequest.checks.filter((check) => check.state === 'failed').length
  const wantsChanges = pullRequest.reviews.some((review) => review.verdict === 'changes_requested')
  const send = (about: 'address-review' | 'fix-checks') =>
    ask.mutate({ pullRequestId: id, about }, { onSuccess: () => toast.success(t('pull_requests.asked')) })
  return (
    <>
      {is_review_being_addressed && (
        <Badge tone="accent" className="self-center">
          {t('pull_requests.being_addressed')}
        </Badge>
      )}
      {!is_review_being_addressed && (unresolved_threads > 0 || wantsChanges) && (
        <Button size="sm" variant="primary" isBusy={ask.isPending} onClick={() => send('address-review')}>
          {t('pull_requests.address_review', { count: unresolved_threads })}
        </Button>
      )}
      {failing > 0 && (
        <Button size="sm" variant="primary" isBusy={ask.isPending} onClick={() => send('fix-checks')}>
          {t('pull_requests.fix_checks', { count: failing })}
        </Button>
      )}
    </>
  )
}

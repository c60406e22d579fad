import { useQuery } from '@tanstack/react-query'
import { GitPullRequestArrow } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { repositoriesOf } from '@/api/conversations/repositories'
import { pullRequestsQuery } from '@/api/git/pull-requests'
import type { AppConversation } from '@/api/types'
import { Button } from '@/ui/form/button'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { CreateDialog } from './create-dialog'
import { PullRequestCard } from './pull-request-card'

export interface PullRequestsProps {
  conversationId: string
  /** The conversation. Null until it is loaded. */
  conversation: AppConversation | null
  /** Whether the user may open and change pull requests of this conversation. */
  isOwn: boolean
}

/** The pull requests of a conversation: their state at the git host, and the possible actions. */
export function PullRequests({ conversationId, conversation, isOwn }: PullRequestsProps) {
  const { t } = useTranslation()
  const query = useQuery(pullRequestsQuery(conversationId))
  const [isCreating, setCreating] = useState(false)
  if (query.isPending) return <SkeletonList rows={2} label={t('pull_requests.loading')} className="m-3" />
  if (query.isError && !query.data)
    return <ErrorState className="m-3" error={query.error} onRetry={() => void query.refetch()} />
  const create = isOwn && (
    <Button
      variant={query.data.length === 0 ? 'primary' : 'secondary'}
      icon={<GitPullRequestArrow className="size-4" />}
      onClick={() => setCreating(true)}
    >
      {t('pull_requests.create')}
    </Button>
  )
  return (
    <>
      {query.data.length === 0 ? (
        <EmptyState icon={<GitPullRequestArrow />} title={t('pull_requests.none')} action={create}>
          {t('pull_requests.none_hint')}
        </EmptyState>
      ) : (
        <div className="flex flex-col gap-3 p-3">
          <ul className="flex flex-col gap-3">
            {query.data.map((pullRequest) => (
              <li key={pullRequest.id}>
                <PullRequestCard conversationId={conversationId} pullRequest={pullRequest} isOwn={isOwn} />
              </li>
            ))}
          </ul>
          <div>{create}</div>
        </div>
      )}
      {isCreating && (
        <CreateDialog
          conversationId={conversationId}
          repositories={repositoriesOf(conversation)}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  )
}

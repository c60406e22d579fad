import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { memoryProposalsQuery, useAnswerMemoryProposal } from '@/api/agents/memory'
import type { MemoryProposal } from '@/api/agents/memory-types'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'

/**
 * The notes that agents propose. Each note is shown completely, so that the user reads it before accepting
 * it. Shows nothing if there are no proposals.
 */
export function Proposals() {
  const { t } = useTranslation()
  const query = useQuery(memoryProposalsQuery())
  if (query.isError && !query.data) {
    return (
      <ErrorState
        className="mb-6"
        error={query.error}
        title={t('memory.proposals_failed')}
        onRetry={() => void query.refetch()}
      />
    )
  }
  if (!query.data?.length) return null
  return (
    <section aria-label={t('memory.proposals')} className="mb-6">
      <h3 className="mb-1 text-sm font-medium">{t('memory.proposals')}</h3>
      <p className="mb-2 text-sm text-muted">{t('memory.proposals_lead')}</p>
      <Card>
        <ul className="divide-y divide-border">
          {query.data.map((proposal) => (
            <ProposalRow key={proposal.id} proposal={proposal} />
          ))}
        </ul>
      </Card>
    </section>
  )
}

function ProposalRow({ proposal }: { proposal: MemoryProposal }) {
  const { t } = useTranslation()
  const answer = useAnswerMemoryProposal()
  const { id, kind, title } = proposal
  return (
    <li className="flex flex-col gap-2 px-4 py-3">
      <p className="flex flex-wrap items-baseline gap-x-2 gap-y-1">
        <span className="min-w-0 font-medium break-words">{title}</span>
        <Badge tone={kind === 'deletion' ? 'warning' : 'neutral'}>{t(`memory.proposal_${kind}`)}</Badge>
      </p>
      <p className="text-xs break-all text-muted">
        {proposal.repository} · <code>{proposal.name}</code> ·{' '}
        <Link
          to={`/conversations/${proposal.conversation_id}`}
          className="text-accent underline-offset-2 hover:underline"
        >
          {t('memory.proposal_conversation')}
        </Link>
      </p>
      {proposal.text !== null && (
        <pre className="max-h-72 overflow-auto rounded-md bg-sunken p-3 text-sm whitespace-pre-wrap">
          {proposal.text}
        </pre>
      )}
      <div className="flex justify-end gap-2">
        <Button
          size="sm"
          aria-label={t('memory.reject_named', { title })}
          disabled={answer.isPending}
          onClick={() => answer.mutate({ id, answer: 'reject' })}
        >
          {t('memory.reject')}
        </Button>
        <Button
          size="sm"
          variant="primary"
          aria-label={t('memory.accept_named', { title })}
          disabled={answer.isPending}
          onClick={() => answer.mutate({ id, answer: 'accept' })}
        >
          {t('memory.accept')}
        </Button>
      </div>
    </li>
  )
}

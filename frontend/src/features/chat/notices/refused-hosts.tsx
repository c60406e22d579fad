import { useQuery } from '@tanstack/react-query'
import { Check, Globe, X } from 'lucide-react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationNetworkQuery, useAnswerNetwork, type RefusedHost } from '@/api/sandboxes/network'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { useComposerDraft } from '../composer/composer-draft'

/** A host that the network policy has blocked, and the possible answers. Hosts are shown one at a time. */
export function RefusedHosts() {
  const { conversationId } = useComposerDraft()
  const reports = useConversation((state) => state.view.refusedRequestReports)
  const { data } = useQuery(conversationNetworkQuery(conversationId, reports))
  const [refused, ...others] = data?.refused ?? []
  return (
    refused && (
      <Refused
        key={`${refused.host}:${refused.port}`}
        refused={refused}
        hasRepository={data?.repository != null}
        othersCount={others.length}
      />
    )
  )
}

interface RefusedProps {
  refused: RefusedHost
  hasRepository: boolean
  othersCount: number
}

function Refused({ refused, hasRepository, othersCount }: RefusedProps) {
  const { t } = useTranslation()
  const titleId = useId()
  const { conversationId } = useComposerDraft()
  const answer = useAnswerNetwork(conversationId)
  const { host, port, client, reason, is_allowable: isAllowable } = refused
  // All browsers call themselves "Mozilla", for historical reasons.
  const program = client === 'Mozilla' ? t('refused_host.a_browser') : client
  const place = `${host}:${port}`
  const button = (kind: 'conversation' | 'repository' | 'ignore') => ({
    size: 'sm' as const,
    isBusy: answer.isPending && answer.variables.answer === kind,
    disabled: answer.isPending,
    onClick: () => answer.mutate({ host, port, answer: kind }),
  })
  return (
    <section
      aria-labelledby={titleId}
      className="mb-2 overflow-hidden rounded-xl border border-warning/50 bg-raised shadow-raised"
    >
      <h2 id={titleId} aria-live="polite" className="flex gap-2 px-4 pt-3 text-sm font-medium">
        <Globe aria-hidden className="mt-0.5 size-4 shrink-0 text-warning" />
        <span className="min-w-0 wrap-anywhere">
          {program
            ? t('refused_host.tried_by', { client: program, place })
            : t('refused_host.tried', { place })}
        </span>
      </h2>
      <p className="px-4 pt-1 pb-3 text-xs text-muted">
        {t(`refused_host.reason.${reason}`)}{' '}
        {(reason === 'network_off' || reason === 'denied') && (
          <Link to="/settings/network" className="underline hover:text-text">
            {t('refused_host.settings')}
          </Link>
        )}
      </p>
      {answer.isError && <ErrorState error={answer.error} className="mx-4 mb-3" />}
      <div className="flex flex-wrap items-center gap-2 border-t border-border bg-sunken/60 px-4 py-3">
        {isAllowable && (
          <Button
            {...button('conversation')}
            variant="primary"
            icon={<Check aria-hidden className="size-4" />}
          >
            {t('refused_host.allow_conversation')}
          </Button>
        )}
        {isAllowable && hasRepository && (
          <Button {...button('repository')} icon={<Check aria-hidden className="size-4" />}>
            {t('refused_host.allow_repository')}
          </Button>
        )}
        <Button {...button('ignore')} icon={<X aria-hidden className="size-4" />}>
          {t(isAllowable ? 'refused_host.keep_refusing' : 'refused_host.dismiss')}
        </Button>
        {othersCount > 0 && (
          <p className="text-xs text-muted">{t('refused_host.others', { count: othersCount })}</p>
        )}
      </div>
    </section>
  )
}

import { CircleCheck, CircleSlash, Hourglass } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { OfferInfo } from '@/api/approval/offers'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Notice } from '@/ui/feedback/notice'
import { OfferContent } from './offer-content'

export interface OfferCardProps {
  item: OfferInfo
  /** What came of it so far. */
  remark?: ReactNode
  isBusy: boolean
  onAllow: () => void
  onRefuse: () => void
}

/** One thing that a repository would run, in full, and the answer to it. */
export function OfferCard({
  item: { offer, state, approved, is_name_taken: isNameTaken },
  remark,
  isBusy,
  onAllow,
  onRefuse,
}: OfferCardProps) {
  const { t } = useTranslation()
  const kind = t(`offer.kind.${offer.kind}`)
  const name = offer.name === offer.path ? kind : `${kind} ${offer.name}`
  return (
    <li className="rounded-lg border border-border p-4">
      <article aria-label={`${name}: ${offer.path}`}>
        <header className="flex flex-wrap items-start justify-between gap-2">
          <div className="min-w-0">
            <h3 className="font-medium wrap-anywhere">{name}</h3>
            <p className="font-mono text-xs wrap-anywhere text-muted">{offer.path}</p>
          </div>
          <State state={state} />
        </header>
        <div className="mt-3 flex flex-col gap-3">
          {approved && <Notice tone="warning" title={t('offer.changed')} />}
          {isNameTaken && <Notice tone="warning" title={t('consent.name_taken')} />}
          {offer.problem && (
            <Notice tone="danger" title={t('consent.problem')}>
              {offer.problem}
            </Notice>
          )}
          <OfferContent offer={offer} approved={approved} />
          {remark}
        </div>
        <div className="mt-4 flex flex-wrap justify-end gap-2">
          {state !== 'refused' && (
            <Button
              size="sm"
              disabled={isBusy}
              aria-label={t('consent.refuse_named', { name })}
              onClick={onRefuse}
            >
              {t('consent.refuse')}
            </Button>
          )}
          {state !== 'allowed' && (
            <Button
              size="sm"
              variant="primary"
              disabled={isBusy || Boolean(offer.problem)}
              aria-label={t('consent.allow_named', { name })}
              onClick={onAllow}
            >
              {t('consent.allow')}
            </Button>
          )}
        </div>
      </article>
    </li>
  )
}

function State({ state }: { state: OfferInfo['state'] }) {
  const { t } = useTranslation()
  const label = t(`consent.state.${state}`)
  switch (state) {
    case 'pending':
      return (
        <Badge tone="warning" icon={<Hourglass aria-hidden />}>
          {label}
        </Badge>
      )
    case 'allowed':
      return (
        <Badge tone="success" icon={<CircleCheck aria-hidden />}>
          {label}
        </Badge>
      )
    case 'refused':
      return <Badge icon={<CircleSlash aria-hidden />}>{label}</Badge>
  }
}

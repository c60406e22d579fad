import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { errorDetail } from '@/api/errors'
import { useAnswerOffers, useRunSetupScript } from '@/api/approval/consent'
import type { ConversationConsent, Offer } from '@/api/approval/offers'
import type { StartStage } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { Notice } from '@/ui/feedback/notice'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { OfferCard } from './offer-card'

export interface ConsentDialogProps {
  conversationId: string
  consent: ConversationConsent
  /** How the set-up script goes, if it was run. */
  setup: StartStage | undefined
  onClose: () => void
}

/** Everything that the repository would run, and the answers to it. */
export function ConsentDialog({ conversationId, consent, setup, onClose }: ConsentDialogProps) {
  const { t } = useTranslation()
  const answer = useAnswerOffers(conversationId)
  const waiting = consent.items.filter(({ offer, state }) => state === 'pending' && !offer.problem)
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('consent.title')}
      description={t('consent.lead', { repository: consent.repository })}
      className="max-w-3xl!"
    >
      <div className="flex flex-col gap-4">
        {answer.isError && (
          <Notice tone="danger" title={t('consent.failed')}>
            {errorDetail(answer.error)}
          </Notice>
        )}
        <ul className="flex flex-col gap-4">
          {consent.items.map((item) => (
            <OfferCard
              key={`${item.offer.kind} ${item.offer.path} ${item.offer.name}`}
              item={item}
              remark={
                setup &&
                item.offer.kind === 'setup_script' && (
                  <Setup
                    conversationId={conversationId}
                    stage={setup}
                    script={item.state === 'allowed' ? item.offer : undefined}
                  />
                )
              }
              isBusy={answer.isPending}
              onAllow={() => answer.mutate({ allow: [item.offer.hash] })}
              onRefuse={() => answer.mutate({ refuse: [item.offer.hash] })}
            />
          ))}
        </ul>
        {waiting.length > 0 && (
          <DialogActions>
            <Button
              variant="primary"
              isBusy={answer.isPending}
              onClick={() => answer.mutate({ allow: waiting.map(({ offer }) => offer.hash) })}
            >
              {t('consent.allow_all', { count: waiting.length })}
            </Button>
          </DialogActions>
        )}
      </div>
    </Dialog>
  )
}

const TONES = { running: 'accent', done: 'success', failed: 'danger' } as const

interface SetupProps {
  conversationId: string
  stage: StartStage
  /** What may run, as it is now. */
  script: Offer | undefined
}

function Setup({ conversationId, stage, script }: SetupProps) {
  const { t } = useTranslation()
  const again = useRunSetupScript(conversationId)
  if (stage.state !== 'running' && stage.state !== 'done' && stage.state !== 'failed') return null
  return (
    <Notice tone={TONES[stage.state]} title={t(`consent.setup.${stage.state}`)}>
      {stage.state === 'failed' && <p>{stage.detail}</p>}
      {stage.output && (
        <ScrollPre className="mt-1 max-h-60 rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap text-text">
          {stage.output}
        </ScrollPre>
      )}
      {again.isError && <p className="text-danger">{errorDetail(again.error)}</p>}
      {script && stage.state !== 'running' && (
        <Button
          size="sm"
          icon={<RotateCw aria-hidden className="size-3.5" />}
          className="mt-2"
          isBusy={again.isPending}
          onClick={() => again.mutate(script.hash)}
        >
          {t('consent.setup.again')}
        </Button>
      )}
    </Notice>
  )
}

import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { errorDetail } from '@/api/errors'
import { type SetupScript, useAnswerConsent, useRunSetupScript } from '@/api/approval/consent'
import type { ConversationConsent } from '@/api/approval/executables'
import type { StartStage } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { Notice } from '@/ui/feedback/notice'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { ExecutableCard } from './executable-card'

export interface ConsentDialogProps {
  conversationId: string
  consent: ConversationConsent
  /** The stage of the set-up script, if the script was run. */
  setup: StartStage | undefined
  onClose: () => void
}

/** Shows all executables of the repositories, with buttons to allow or refuse each of them. */
export function ConsentDialog({ conversationId, consent, setup, onClose }: ConsentDialogProps) {
  const { t } = useTranslation()
  const answer = useAnswerConsent(conversationId)
  const further = consent.further ?? []
  const isSeveral = further.length > 0
  const groups = [consent, ...further].filter(({ items }) => items.length > 0)
  const waiting = groups.flatMap(({ items }) =>
    items.filter(({ offer, state }) => state === 'pending' && !offer.problem),
  )
  const isRunning = setup?.state === 'running'
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t(isSeveral ? 'consent.title_several' : 'consent.title')}
      description={
        isSeveral ? t('consent.lead_several') : t('consent.lead', { repository: consent.repository })
      }
      className="max-w-3xl!"
    >
      <div className="flex flex-col gap-4">
        {answer.isError && (
          <Notice tone="danger" title={t('consent.failed')}>
            {errorDetail(answer.error)}
          </Notice>
        )}
        {isSeveral && setup && <Setup stage={setup} />}
        {groups.map(({ directory, repository, items }) => {
          const scope = isSeveral ? { repository: directory } : {}
          return (
            <section key={directory} aria-label={repository}>
              {isSeveral && <h3 className="mb-2 font-mono text-sm wrap-anywhere">{repository}</h3>}
              <ul className="flex flex-col gap-4">
                {items.map((item) => (
                  <ExecutableCard
                    key={`${item.offer.kind} ${item.offer.path} ${item.offer.name}`}
                    item={item}
                    remark={
                      setup &&
                      item.offer.kind === 'setup_script' && (
                        <>
                          {!isSeveral && <Setup stage={setup} />}
                          {item.state === 'allowed' && hasEnded(setup) && (
                            <RunAgain
                              conversationId={conversationId}
                              script={{ hash: item.offer.hash, ...scope }}
                            />
                          )}
                        </>
                      )
                    }
                    isBusy={answer.isPending || (item.offer.kind === 'setup_script' && isRunning)}
                    onAllow={() => answer.mutate({ allow: [item.offer.hash], ...scope })}
                    onRefuse={() => answer.mutate({ refuse: [item.offer.hash], ...scope })}
                  />
                ))}
              </ul>
            </section>
          )
        })}
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

const hasEnded = ({ state }: StartStage) => state === 'done' || state === 'failed'

function Setup({ stage }: { stage: StartStage }) {
  const { t } = useTranslation()
  if (stage.state !== 'running' && !hasEnded(stage)) return null
  const state = stage.state as keyof typeof TONES
  return (
    <Notice tone={TONES[state]} title={t(`consent.setup.${state}`)}>
      {state === 'failed' && <p>{stage.detail}</p>}
      {stage.output && (
        <ScrollPre className="mt-1 max-h-60 rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap text-text">
          {stage.output}
        </ScrollPre>
      )}
    </Notice>
  )
}

/** Runs the set-up script again. `script` is the allowed script in its present version. */
function RunAgain({ conversationId, script }: { conversationId: string; script: SetupScript }) {
  const { t } = useTranslation()
  const again = useRunSetupScript(conversationId)
  return (
    <div>
      {again.isError && <p className="text-danger">{errorDetail(again.error)}</p>}
      <Button
        size="sm"
        icon={<RotateCw aria-hidden className="size-3.5" />}
        isBusy={again.isPending}
        onClick={() => again.mutate(script)}
      >
        {t('consent.setup.again')}
      </Button>
    </div>
  )
}

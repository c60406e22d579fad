import { CircleCheck, CircleMinus, CircleX } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useTryProfile, type ProfileTrial } from '@/api/models/profile-trial'
import { useDollars } from '@/lib/hooks/use-dollars'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'

export interface TrialDialogProps {
  name: string
  onClose: () => void
}

/**
 * Calls the model of a profile once when the user asks for it, and shows the result. The dialog is open while
 * it is mounted.
 */
export function TrialDialog({ name, onClose }: TrialDialogProps) {
  const { t } = useTranslation()
  const attempt = useTryProfile(name)
  return (
    <Dialog isOpen onOpenChange={onClose} title={t('trial.title', { name })} description={t('trial.lead')}>
      <div className="flex flex-col gap-4" aria-busy={attempt.isPending}>
        {attempt.data && <Result trial={attempt.data} />}
        {attempt.error && <ErrorState error={attempt.error} title={t('trial.failed')} />}
        <DialogActions>
          <Button onClick={onClose}>{t('action.close')}</Button>
          <Button variant="primary" isBusy={attempt.isPending} onClick={() => attempt.mutate()}>
            {t(attempt.isIdle ? 'trial.start' : 'trial.again')}
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  )
}

function Result({ trial }: { trial: ProfileTrial }) {
  const { t } = useTranslation()
  const dollars = useDollars()
  const findings = [
    ['trial.answers', trial.answers],
    ['trial.tools', callsRun(trial)],
    ['trial.streams', trial.streams],
    ['trial.images', trial.images],
    ['trial.reasons', trial.reasons || null],
    ['trial.caching', trial.caching],
  ] as const
  const { prompt_tokens: input, completion_tokens: output, seconds } = trial
  return (
    <>
      <ul className="flex flex-col gap-2 text-sm">
        {findings.map(([label, works]) => (
          <li key={label} className="flex items-center gap-2">
            {works === null && <CircleMinus aria-hidden className="size-4 text-faint" />}
            {works === true && <CircleCheck aria-hidden className="size-4 text-success" />}
            {works === false && <CircleX aria-hidden className="size-4 text-danger" />}
            {t(label)}: <Finding label={label} works={works} trial={trial} />
          </li>
        ))}
      </ul>
      {trial.refusal && (
        <Notice tone="danger" title={t('trial.refusal')}>
          {trial.refusal}
        </Notice>
      )}
      <p className="text-sm text-muted">
        {t('trial.used', { input, output, seconds })}{' '}
        {trial.cost === null ? t('trial.cost_unknown') : t('trial.cost', { cost: dollars(trial.cost) })}
      </p>
    </>
  )
}

function Finding({ label, works, trial }: { label: string; works: boolean | null; trial: ProfileTrial }) {
  const { t } = useTranslation()
  if (label === 'trial.caching') return <Caching trial={trial} />
  if (label !== 'trial.tools') return t(wordFor(works))
  return t(`trial.tool_calls.${trial.tool_calls === 'in_text' && !works ? 'only_in_text' : trial.tool_calls}`)
}

/** Returns whether agents with this profile can call tools. */
function callsRun(trial: ProfileTrial) {
  return trial.tool_calls === 'native' || (trial.tool_calls === 'in_text' && !trial.native_tool_calling)
}

function wordFor(works: boolean | null) {
  return works === null ? 'trial.not_used' : works ? 'trial.works' : 'trial.does_not'
}

function Caching({ trial }: { trial: ProfileTrial }) {
  const { t } = useTranslation()
  if (trial.caching) return t('trial.cache_hit', { count: trial.cached_tokens })
  return t(trial.caching_skipped ? `trial.caching_skipped.${trial.caching_skipped}` : 'trial.cache_missed')
}

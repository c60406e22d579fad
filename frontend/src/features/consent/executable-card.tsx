import { CircleCheck, CircleSlash, Hourglass } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ExecutableWithState } from '@/api/approval/executables'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Notice } from '@/ui/feedback/notice'
import { ExecutableContent } from './executable-content'

export interface ExecutableCardProps {
  item: ExecutableWithState
  /** A remark below the content, such as the result of the last run. */
  remark?: ReactNode
  isBusy: boolean
  onAllow: () => void
  onRefuse: () => void
}

/** One executable of a repository: its complete content, and buttons to allow or refuse it. */
export function ExecutableCard({
  item: { offer: executable, state, approved, is_name_taken: isNameTaken },
  remark,
  isBusy,
  onAllow,
  onRefuse,
}: ExecutableCardProps) {
  const { t } = useTranslation()
  const kind = t(`offer.kind.${executable.kind}`)
  const name = executable.name === executable.path ? kind : `${kind} ${executable.name}`
  return (
    <li className="rounded-lg border border-border p-4">
      <article aria-label={`${name}: ${executable.path}`}>
        <header className="flex flex-wrap items-start justify-between gap-2">
          <div className="min-w-0">
            <h3 className="font-medium wrap-anywhere">{name}</h3>
            <p className="font-mono text-xs wrap-anywhere text-muted">{executable.path}</p>
          </div>
          <State state={state} />
        </header>
        <div className="mt-3 flex flex-col gap-3">
          {approved && <Notice tone="warning" title={t('offer.changed')} />}
          {isNameTaken && <Notice tone="warning" title={t('consent.name_taken')} />}
          {executable.problem && (
            <Notice tone="danger" title={t('consent.problem')}>
              {executable.problem}
            </Notice>
          )}
          <ExecutableContent executable={executable} approved={approved} />
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
              disabled={isBusy || Boolean(executable.problem)}
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

function State({ state }: { state: ExecutableWithState['state'] }) {
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

import { ChevronRight, CircleDashed, ShieldCheck, type LucideIcon } from 'lucide-react'
import clsx from 'clsx'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { Proof } from '@/events/fold/proof'
import { useRowState } from './row-state'

const ICON: Record<Proof['status'], LucideIcon> = { verified: ShieldCheck, unverified: CircleDashed }

/**
 * Says whether commands have shown that the finished work is right. When the user opens it, it lists these
 * commands.
 */
export function ProofRow({ proof }: { proof: Proof }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useRowState('proof', false)
  const bodyId = useId()
  const Icon = ICON[proof.status]
  return (
    <div className="text-xs">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={bodyId}
        title={t(`proof.${proof.status}_hint`)}
        onClick={() => setIsOpen(!isOpen)}
        className={clsx(
          'flex items-center gap-1.5 rounded-sm py-1 font-medium hover:text-text',
          proof.status === 'verified' ? 'text-success' : 'text-warning',
        )}
      >
        <Icon aria-hidden className="size-3.5" />
        {t(`proof.${proof.status}`)}
        <ChevronRight aria-hidden className={clsx('size-3.5 transition-transform', isOpen && 'rotate-90')} />
      </button>
      {isOpen && (
        <div id={bodyId} className="mt-1 space-y-1.5 border-l-2 border-border pl-3 text-muted">
          <p>{t(proof.commands.length === 0 ? 'proof.none_ran' : 'proof.ran')}</p>
          <CommandList proof={proof} />
          {proof.changed.length > 0 && <p>{t('proof.changed', { count: proof.changed.length })}</p>}
        </div>
      )}
    </div>
  )
}

function CommandList({ proof }: { proof: Proof }) {
  const { t } = useTranslation()
  if (proof.commands.length === 0) return null
  return (
    <ul className="space-y-1">
      {proof.commands.map(({ event_id, command, exit_code, is_cited }) => (
        <li key={event_id} className="wrap-anywhere">
          <code className="font-mono text-text">{command}</code>{' '}
          {exit_code === null ? t('proof.unknown_exit_code') : t('proof.exit_code', { code: exit_code })}
          {is_cited && <>, {t('proof.cited')}</>}
        </li>
      ))}
    </ul>
  )
}

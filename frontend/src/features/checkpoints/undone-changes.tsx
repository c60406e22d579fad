import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CheckpointDiff } from '@/api/conversations/checkpoint-types'

export interface UndoneChangesProps {
  diff: CheckpointDiff
  renderPatch: (patch: string) => ReactNode
}

/** The changes of files since the checkpoint. A rewind would undo them. */
export function UndoneChanges({ diff, renderPatch }: UndoneChangesProps) {
  const { t } = useTranslation()
  if (diff.files.length === 0) return <p className="text-sm text-muted">{t('checkpoints.no_changes')}</p>
  return (
    <section aria-label={t('checkpoints.changes')} className="flex flex-col gap-2">
      <p className="text-sm text-muted">{t('checkpoints.undone', { count: diff.files.length })}</p>
      <div className="max-h-[40dvh] overflow-y-auto">
        {diff.patch === null ? <Names diff={diff} /> : renderPatch(diff.patch)}
      </div>
    </section>
  )
}

/** Lists the names of the files, for a change that is too large to show. */
function Names({ diff }: { diff: CheckpointDiff }) {
  const { t } = useTranslation()
  return (
    <ul className="text-xs">
      {diff.files.map(({ path, status }) => (
        <li key={path} className="wrap-anywhere">
          <span className="font-mono">{path}</span>{' '}
          <span className="text-muted">{t(`changes.status.${status}`)}</span>
        </li>
      ))}
    </ul>
  )
}

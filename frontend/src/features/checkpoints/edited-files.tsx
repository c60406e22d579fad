import { useTranslation } from 'react-i18next'
import { Notice } from '@/ui/feedback/notice'

export interface EditedFilesProps {
  paths: readonly string[]
  isKept: boolean
  onKeptChange: (isKept: boolean) => void
}

/**
 * Warns that going back would undo edits that the agent did not make. The user must agree that these files
 * are left unchanged.
 */
export function EditedFiles({ paths, isKept, onKeptChange }: EditedFilesProps) {
  const { t } = useTranslation()
  return (
    <Notice tone="warning" title={t('checkpoints.edited', { count: paths.length })}>
      <ul className="mt-1 max-h-32 overflow-y-auto font-mono text-xs">
        {paths.map((path) => (
          <li key={path} className="wrap-anywhere">
            {path}
          </li>
        ))}
      </ul>
      <label className="mt-2 flex items-center gap-2 text-text">
        <input
          type="checkbox"
          checked={isKept}
          onChange={(event) => onKeptChange(event.target.checked)}
          className="size-4 shrink-0 accent-accent"
        />
        {t('checkpoints.keep')}
      </label>
    </Notice>
  )
}

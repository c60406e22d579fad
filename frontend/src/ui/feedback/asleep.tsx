import { MoonStar } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { EmptyState } from './empty-state'

/** Shown in place of what only a running sandbox can show. `hint` says how the sandbox gets back. */
export function Asleep({ hint }: { hint?: string }) {
  const { t } = useTranslation()
  return (
    <EmptyState icon={<MoonStar />} title={t('asleep.title')}>
      {hint ?? t('asleep.hint')}
    </EmptyState>
  )
}

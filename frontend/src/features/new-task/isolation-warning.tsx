import { useTranslation } from 'react-i18next'
import type { WebClientConfig } from '@/api/types'
import { Notice } from '@/ui/feedback/notice'

/** Says what commands of the agent could reach outside of their sandbox. */
export function IsolationWarning({ sandbox }: { sandbox: WebClientConfig['sandbox'] }) {
  const { t } = useTranslation()
  if (!sandbox.warning) return null
  return (
    <Notice tone="warning" title={t(`home.isolation_${sandbox.isolation}`)}>
      {sandbox.warning}
    </Notice>
  )
}

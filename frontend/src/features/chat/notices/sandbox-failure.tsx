import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useWakeSandbox } from '@/api/conversations/archives'
import type { SandboxStatus } from '@/api/types'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { WithCode } from '@/ui/text/with-code'
import { useComposerDraft } from '../composer/composer-draft'
import { HostLost } from './host-lost'

const FAILED_STATES: ReadonlySet<SandboxStatus> = new Set<SandboxStatus>(['ERROR', 'MISSING'])
const HOST_LOST_CODES: ReadonlySet<string> = new Set(['sandbox_host_lost', 'sandbox_host_unknown'])

/**
 * Explains why the sandbox was stopped or cannot be reached, and how to fix that. Has a button that starts it
 * again.
 */
export function SandboxFailure() {
  const { conversationId } = useComposerDraft()
  const sandboxId = useConversation(({ view: { conversation } }) => conversation?.sandbox_id)
  const failure = useConversation(({ view: { conversation } }) =>
    conversation?.start_status === 'READY' && FAILED_STATES.has(conversation.sandbox_status)
      ? conversation.sandbox_error
      : null,
  )
  if (!failure) return null
  const Way = HOST_LOST_CODES.has(failure.code) ? HostLost : Wake
  return (
    <Notice tone="danger" title={failure.cause} className="mb-2">
      <p className="text-text">
        <WithCode text={failure.fix} />
      </p>
      <Way sandboxId={sandboxId ?? conversationId} />
    </Notice>
  )
}

function Wake({ sandboxId }: { sandboxId: string }) {
  const { t } = useTranslation()
  const wake = useWakeSandbox(sandboxId)
  return (
    <>
      {wake.isError && <ErrorState error={wake.error} className="mt-2" />}
      <Button
        size="sm"
        className="mt-2"
        icon={<RotateCw aria-hidden className="size-3.5" />}
        isBusy={wake.isPending}
        onClick={() => wake.mutate(undefined)}
      >
        {t('chat.wake_sandbox')}
      </Button>
    </>
  )
}

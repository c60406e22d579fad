import { useQuery } from '@tanstack/react-query'
import { Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  type CommitSigning,
  commitSigningQuery,
  useReplaceSigningKey,
  useSetCommitSigning,
} from '@/api/git/commit-signing'
import { copyText } from '@/lib/browser/copy-text'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Button } from '@/ui/form/button'
import { IconButton } from '@/ui/form/icon-button'
import { Card } from '@/ui/layout/card'
import { SectionHeader } from '@/ui/layout/section-header'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { SigningKeyHosts } from './signing-key-hosts'

/** The setting that decides whether commits of agents are signed, and the public key for the git host. */
export function CommitSigningSection() {
  const { t } = useTranslation()
  const query = useQuery(commitSigningQuery())
  return (
    <section aria-label={t('commit_signing.title')} className="mt-8">
      <SectionHeader title={t('commit_signing.title')} lead={t('commit_signing.lead')} />
      {query.isPending && <SkeletonList rows={1} label={t('commit_signing.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && <Signing signing={query.data} />}
    </section>
  )
}

function Signing({ signing }: { signing: CommitSigning }) {
  const { t } = useTranslation()
  const set = useSetCommitSigning()
  const replace = useReplaceSigningKey()
  const [isAsking, setAsking] = useState(false)
  return (
    <Card className="flex flex-col gap-3 p-4">
      <div className="flex flex-wrap items-center gap-2">
        <Badge tone={signing.is_on ? 'success' : 'neutral'}>
          {t(signing.is_on ? 'commit_signing.on' : 'commit_signing.off')}
        </Badge>
        <div className="flex-1" />
        {signing.public_key && (
          <Button size="sm" onClick={() => setAsking(true)}>
            {t('commit_signing.new_key')}
          </Button>
        )}
        <Button
          size="sm"
          variant={signing.is_on ? 'secondary' : 'primary'}
          isBusy={set.isPending}
          onClick={() => set.mutate(!signing.is_on)}
        >
          {t(signing.is_on ? 'commit_signing.turn_off' : 'commit_signing.turn_on')}
        </Button>
      </div>
      {set.isError && <ErrorState error={set.error} title={t('commit_signing.failed')} />}
      {signing.public_key && <PublicKey signing={signing} line={signing.public_key} />}
      <ConfirmDialog
        isOpen={isAsking}
        onOpenChange={setAsking}
        title={t('commit_signing.new_key_title')}
        description={t('commit_signing.new_key_hint')}
        confirmLabel={t('commit_signing.new_key')}
        isBusy={replace.isPending}
        onConfirm={() => replace.mutate(undefined, { onSettled: () => setAsking(false) })}
      />
    </Card>
  )
}

function PublicKey({ signing, line }: { signing: CommitSigning; line: string }) {
  const { t } = useTranslation()

  async function handleCopy() {
    if (await copyText(line)) toast.success(t('commit_signing.copied'))
    else toast.error(t('commit_signing.copy_refused'))
  }

  return (
    <div className="flex flex-col gap-1 text-sm">
      <p className="text-muted">{t('commit_signing.add_key')}</p>
      <div className="flex items-start gap-1 rounded-md bg-sunken py-1 pr-1 pl-3">
        <code className="min-w-0 flex-1 py-1 text-xs wrap-anywhere">{line}</code>
        <IconButton
          size="sm"
          label={t('commit_signing.copy')}
          icon={<Copy aria-hidden className="size-4" />}
          onClick={() => void handleCopy()}
        />
      </div>
      <p className="text-xs wrap-anywhere text-muted">{signing.fingerprint}</p>
      <SigningKeyHosts />
    </div>
  )
}

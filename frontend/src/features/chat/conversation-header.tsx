import { FolderGit2, GitBranch } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useQuery } from '@tanstack/react-query'
import { profilesQuery } from '@/api/profiles'
import type { AppConversation } from '@/api/types'
import { useConversation } from '@/events/use-conversation'
import { repositoryName } from '@/lib/repository-name'
import { Badge } from '@/ui/badge'
import { EditableTitle } from './editable-title'

/** Which conversation this is: title, repository and branch, model, what it has cost. */
export function ConversationHeader({ conversation }: { conversation: AppConversation }) {
  const { selected_repository: repository, selected_branch: branch } = conversation
  return (
    <header className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-0.5 border-b border-border px-3 py-2 sm:px-6">
      <EditableTitle key={conversation.id} conversation={conversation} />
      <div className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
        {repository && (
          <span className="flex min-w-0 items-center gap-1.5" title={repository}>
            <FolderGit2 aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">{repositoryName(repository)}</span>
          </span>
        )}
        {branch && (
          <span className="flex min-w-0 items-center gap-1.5">
            <GitBranch aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">{branch}</span>
          </span>
        )}
        <Model conversation={conversation} />
        <Usage conversation={conversation} />
      </div>
    </header>
  )
}

function Model({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const profiles = useQuery(profilesQuery())
  const profile = profiles.data?.profiles.find((each) => each.name === conversation.llm_profile)
  const name = conversation.llm_profile ?? conversation.llm_model
  if (!name) return null
  return (
    <span className="flex items-center gap-1.5" title={conversation.llm_model ?? undefined}>
      {name}
      {profile?.is_recording && (
        <span title={t('chat.recording_hint')}>
          <Badge tone="warning">{t('chat.recording')}</Badge>
        </span>
      )}
    </span>
  )
}

function Usage({ conversation }: { conversation: AppConversation }) {
  const { t, i18n } = useTranslation()
  const logged = useConversation((state) => state.view.usage)
  const usage = logged ?? conversation.metrics
  const tokens = usage?.accumulated_token_usage
  if (!usage || !tokens || tokens.prompt_tokens + tokens.completion_tokens === 0) return null
  const compact = new Intl.NumberFormat(i18n.language, { notation: 'compact', maximumFractionDigits: 1 })
  const money = new Intl.NumberFormat(i18n.language, {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: 4,
  })
  const detail = t('chat.tokens', {
    prompt: tokens.prompt_tokens.toLocaleString(i18n.language),
    completion: tokens.completion_tokens.toLocaleString(i18n.language),
  })
  return (
    <span className="font-mono tabular-nums" title={detail}>
      {usage.accumulated_cost > 0 && <>{money.format(usage.accumulated_cost)} · </>}
      {t('chat.tokens_short', { tokens: compact.format(tokens.prompt_tokens + tokens.completion_tokens) })}
    </span>
  )
}

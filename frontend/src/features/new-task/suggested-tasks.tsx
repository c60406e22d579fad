import { useQuery } from '@tanstack/react-query'
import { ArrowRight } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { gitCredentialsQuery } from '@/api/git/git-credentials'
import { type SuggestedTask, suggestedTasksQuery } from '@/api/git/git-search'
import { useStartConversation } from '@/api/conversations/start-tasks'
import { Badge, type Tone } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'

const SHOWN_AT_FIRST = 4

const TONES: Record<SuggestedTask['task_type'], Tone> = {
  MERGE_CONFLICTS: 'danger',
  FAILING_CHECKS: 'danger',
  UNRESOLVED_COMMENTS: 'warning',
  OPEN_ISSUE: 'accent',
  OPEN_PR: 'neutral',
}

/**
 * The suggested tasks at the user's git hosts. One click starts a task. Shows nothing if no host has a token.
 */
export function SuggestedTasks() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const hasHost = (useQuery(gitCredentialsQuery()).data?.length ?? 0) > 0
  const query = useQuery({ ...suggestedTasksQuery(), enabled: hasHost })
  const start = useStartConversation()
  const [showsAll, setShowsAll] = useState(false)
  const tasks = query.data?.items ?? []
  if (tasks.length === 0) return null
  const begin = ({ git_provider, host, task_type, repo, issue_number, title }: SuggestedTask) =>
    start.mutate(
      { suggested_task: { git_provider, host, task_type, repo, issue_number, title } },
      { onSuccess: (task) => void navigate(`/conversations/${task.app_conversation_id}`) },
    )
  return (
    <section aria-labelledby="suggested-title">
      <h2 id="suggested-title" className="mb-3 eyebrow">
        {t('home.suggested')}
      </h2>
      {start.isError && <ErrorState error={start.error} className="mb-3" />}
      <Card className="p-1.5">
        <ul>
          {(showsAll ? tasks : tasks.slice(0, SHOWN_AT_FIRST)).map((task) => (
            <li key={`${task.host} ${task.repo} ${task.issue_number} ${task.task_type}`}>
              <TaskButton task={task} isBusy={start.isPending} onStart={() => begin(task)} />
            </li>
          ))}
        </ul>
        {!showsAll && tasks.length > SHOWN_AT_FIRST && (
          <Button size="sm" variant="ghost" className="m-1.5" onClick={() => setShowsAll(true)}>
            {t('home.suggested_all', { count: tasks.length })}
          </Button>
        )}
      </Card>
    </section>
  )
}

interface TaskButtonProps {
  task: SuggestedTask
  isBusy: boolean
  onStart: () => void
}

function TaskButton({ task, isBusy, onStart }: TaskButtonProps) {
  const { t } = useTranslation()
  return (
    <button
      type="button"
      disabled={isBusy}
      onClick={onStart}
      className="flex w-full flex-wrap items-center gap-x-3 gap-y-1 rounded-md px-3 py-2 text-left hover:bg-hover disabled:opacity-60"
    >
      <Badge tone={TONES[task.task_type]}>{t(`home.task_kind.${task.task_type}`)}</Badge>
      <span className="min-w-0 flex-1 basis-40 truncate text-sm font-medium">{task.title}</span>
      <span className="truncate font-mono text-xs text-muted">
        {task.repo}#{task.issue_number}
      </span>
      <ArrowRight aria-hidden className="size-4 shrink-0 text-muted" />
    </button>
  )
}

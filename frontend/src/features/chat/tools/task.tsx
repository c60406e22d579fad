import { useQuery } from '@tanstack/react-query'
import { Bot, ChevronRight, GitBranch } from 'lucide-react'
import { useId, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { subConversationQuery } from '@/api/conversations/sub-conversations'
import { emptyView, fold } from '@/events/fold/reduce'
import type { DelegatedTask, TaskStatus } from '@/events/fold/tasks'
import type { ActionByKind, ConversationEvent } from '@/events/wire/types'
import { useConversation } from '@/events/use-conversation'
import { Badge, type Tone } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Spinner } from '@/ui/feedback/spinner'
import { useComposerDraft } from '../composer/composer-draft'
import { useItemRenderer } from '../timeline/item-renderer'
import { RowPartStateScope, useRowState } from '../timeline/row-state'
import { Markdown } from '../text/markdown'
import { readableText } from '../text/readable-text'
import { Refusal, ToolStatus } from './outcome'
import { contentText, itemRows } from '../timeline/rows'
import { RowActionsProvider, type RowActions } from '../timeline/row-actions'
import { OriginalText } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { useDollars } from '@/lib/hooks/use-dollars'
import { observationOf, type ToolProps } from './tool-props'

const LIVE_MS = 2000
const TONES: Partial<Record<TaskStatus, Tone>> = {
  conflict: 'warning',
  paused: 'warning',
  waiting: 'warning',
}

/** A task of a sub-agent: its state, its report, and its whole log on request. */
export function TaskTool({ event, outcome, state, action }: ToolProps<ActionByKind['TaskAction']>) {
  const task = useConversation((all) => all.view.tasks.get(event.id)) ?? null
  const { t } = useTranslation()
  const answer = contentText(observationOf(outcome)?.content ?? [])
  const report = readableText(t, answer, 'answer')
  const subagent = task?.subagent || action.subagent_type || ''
  const subject = action.description || task?.description || action.prompt.split('\n')[0]
  return (
    <ToolCard
      icon={<Bot aria-hidden />}
      title={
        <>
          <span className="text-muted">{subagent}</span> {subject}
        </>
      }
      status={<TaskState task={task} state={state} since={event.timestamp} />}
      state={task?.status === 'conflict' ? 'waiting' : state}
    >
      <div className="space-y-2 px-3 py-2 text-sm">
        <TaskPrompt prompt={action.prompt} />
        {outcome === null && task?.last_action && <LastAction text={task.last_action} />}
        {report !== '' && (
          <div className="max-h-96 overflow-y-auto">
            <Markdown text={report} />
          </div>
        )}
        {task !== null && <TaskLog task={task} isLive={outcome === null} />}
      </div>
      <OriginalText text={answer} shown={report} />
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

function TaskState({
  task,
  state,
  since,
}: {
  task: DelegatedTask | null
  state: ToolProps['state']
  since: string
}) {
  const { t } = useTranslation()
  const dollars = useDollars()
  const tone = task ? TONES[task.status] : undefined
  return (
    <>
      {task?.isolation === 'worktree' && (
        <GitBranch role="img" aria-label={t('tool.sub_task.apart')} className="size-3.5" />
      )}
      {task !== null && task.cost > 0 && (
        <span title={t('tool.sub_task.cost', { dollars: dollars(task.cost) })}>{dollars(task.cost)}</span>
      )}
      {task !== null && tone ? (
        <Badge tone={tone}>{t(`tool.sub_task.status.${task.status}`)}</Badge>
      ) : (
        <ToolStatus state={state} since={since} />
      )}
    </>
  )
}

function TaskPrompt({ prompt }: { prompt: string }) {
  const { t } = useTranslation()
  return (
    <details className="group text-muted">
      <summary className="flex w-fit cursor-pointer items-center gap-1 rounded-sm text-xs hover:text-text">
        <ChevronRight aria-hidden className="size-3 transition-transform group-open:rotate-90" />
        {t('tool.sub_task.asked')}
      </summary>
      <p className="mt-1 pl-4 wrap-anywhere whitespace-pre-wrap">{prompt}</p>
    </details>
  )
}

function LastAction({ text }: { text: string }) {
  const { t } = useTranslation()
  return (
    <p className="truncate text-muted" aria-live="polite">
      <span className="text-faint">{t('tool.sub_task.now')}</span> {text}
    </p>
  )
}

function TaskLog({ task, isLive }: { task: DelegatedTask; isLive: boolean }) {
  const { t } = useTranslation()
  const [isShown, setShown] = useRowState('work', false)
  const regionId = useId()
  return (
    <>
      <Button
        size="sm"
        variant="ghost"
        className="-ml-2"
        aria-expanded={isShown}
        aria-controls={isShown ? regionId : undefined}
        onClick={() => setShown(!isShown)}
      >
        {t(isShown ? 'tool.sub_task.hide' : 'tool.sub_task.show')}
      </Button>
      {isShown && (
        <section
          id={regionId}
          aria-label={t('tool.sub_task.work', { subagent: task.subagent })}
          // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
          tabIndex={0}
          className="max-h-[60vh] space-y-3 overflow-y-auto border-l-2 border-border py-1 pr-1 pl-3"
        >
          <RowActionsProvider value={NO_ROW_ACTIONS}>
            <TaskTimeline task={task} isLive={isLive} />
          </RowActionsProvider>
        </section>
      )}
    </>
  )
}

/** Removes the page's controls for rows: a user cannot go back within a sub-agent's work. */
const NO_ROW_ACTIONS: RowActions = {}

function TaskTimeline({ task, isLive }: { task: DelegatedTask; isLive: boolean }) {
  const { t } = useTranslation()
  const { conversationId } = useComposerDraft()
  const query = useQuery({
    ...subConversationQuery(conversationId, task.conversation_id),
    // The log of a sub-agent is only in the sandbox, and no stream sends it. So it is loaded repeatedly.
    refetchInterval: ({ state }) => (isLive || isAsleep(state.error) ? LIVE_MS : false),
  })
  const rows = useMemo(() => rowsOf(query.data ?? []), [query.data])
  const Item = useItemRenderer()
  if (query.isPending) return <Spinner className="size-4 text-muted" />
  if (isAsleep(query.error)) return <p className="text-muted">{t('tool.sub_task.asleep')}</p>
  if (query.isError) return <ErrorState error={query.error} />
  if (rows.length === 0 || Item === null) return <p className="text-muted">{t('tool.sub_task.nothing')}</p>
  return rows.map(
    (row) =>
      row.type === 'item' && (
        <RowPartStateScope key={row.key} name={row.key}>
          <Item item={row.item} />
        </RowPartStateScope>
      ),
  )
}

/** The log is in the sandbox. A sleeping sandbox is a normal state, so this is not shown as an error. */
function isAsleep(error: unknown): boolean {
  return isApiError(error) && error.code === 'sandbox_not_running'
}

/** Returns the log as rows for the timeline. Positions count from the beginning of this log. */
function rowsOf(events: readonly ConversationEvent[]) {
  const frames = events.map((event, index) => ({ type: 'durable', seq: index + 1, event }) as const)
  return itemRows(fold(emptyView, frames).items, false)
}

import { Check, GitCompareArrows, X } from 'lucide-react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { useAnswerMcpChange } from '@/api/approval/mcp-changes'
import type { McpChange } from '@/events/fold/mcp-changes'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { DiffLines, type ShownLine } from '@/ui/text/diff-lines'
import { ErrorState } from '@/ui/feedback/error-state'
import { useComposerDraft } from '../composer/composer-draft'

/**
 * Shows a tool that has changed since its approval: the difference, and the possible answers. If several
 * tools have changed, they are shown one at a time.
 */
export function McpChanges() {
  const changes = useConversation((state) => state.view.mcpChanges)
  const [change, ...others] = changes.filter(({ isRefused }) => !isRefused)
  return change && <Change key={change.fingerprint} change={change} othersCount={others.length} />
}

function Change({ change, othersCount }: { change: McpChange; othersCount: number }) {
  const { t } = useTranslation()
  const titleId = useId()
  const { conversationId } = useComposerDraft()
  const answer = useAnswerMcpChange(conversationId)
  const { server, tool, fingerprint } = change
  const isSent = answer.isPending || answer.isSuccess
  const give = (accept: boolean) => answer.mutate({ server, tool, fingerprint, accept })
  return (
    <section
      aria-labelledby={titleId}
      className="mb-2 overflow-hidden rounded-xl border border-warning/50 bg-raised shadow-raised"
    >
      <h2 id={titleId} aria-live="polite" className="flex gap-2 px-4 pt-3 text-sm font-medium">
        <GitCompareArrows aria-hidden className="mt-0.5 size-4 shrink-0 text-warning" />
        <span className="min-w-0 wrap-anywhere">{t(`mcp_change.${change.change}`, { server, tool })}</span>
      </h2>
      <p className="px-4 pt-1 text-xs text-muted">{t('mcp_change.hint')}</p>
      {/* The whole difference is shown, because a hidden part would be approved unseen. */}
      <div className="mx-4 my-3 overflow-hidden rounded-md border border-border">
        <DiffLines lines={linesOf(change.difference)} wraps className="max-h-[35vh]" />
      </div>
      {answer.isError && <ErrorState error={answer.error} className="mx-4 mb-3" />}
      <div className="flex flex-wrap items-center gap-2 border-t border-border bg-sunken/60 px-4 py-3">
        <Button
          size="sm"
          icon={<Check aria-hidden className="size-4" />}
          isBusy={answer.isPending && answer.variables.accept}
          disabled={isSent}
          onClick={() => give(true)}
        >
          {t('mcp_change.approve')}
        </Button>
        <Button
          size="sm"
          variant="primary"
          icon={<X aria-hidden className="size-4" />}
          isBusy={answer.isPending && !answer.variables.accept}
          disabled={isSent}
          onClick={() => give(false)}
        >
          {t('mcp_change.refuse')}
        </Button>
        {othersCount > 0 && (
          <p className="text-xs text-muted">{t('mcp_change.others', { count: othersCount })}</p>
        )}
      </div>
    </section>
  )
}

const TYPES: Record<string, ShownLine['type']> = { '-': 'removed', '+': 'added', '@': 'skipped' }
const HEAD_LINES = 2

/**
 * Returns the lines of a unified diff, without its header and without the first line that marks a position.
 */
function linesOf(difference: string): ShownLine[] {
  return difference
    .split('\n')
    .slice(HEAD_LINES + 1)
    .map((line) => {
      const type = TYPES[line[0] ?? ''] ?? 'same'
      return { type, text: type === 'skipped' ? '' : line.slice(1) }
    })
}

import { SquareTerminal } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { observationIs, type ActionByKind, type EventOf, type TextStyle } from '@/events/wire/types'
import { useConversation } from '@/events/use-conversation'
import { Badge } from '@/ui/feedback/badge'
import { plainTerminalText } from '../text/ansi'
import { inCodeUnits } from '../text/ansi-styles'
import { readableText } from '../text/readable-text'
import { OutputBlock } from '../text/output-block'
import { Refusal, ToolStatus } from './outcome'
import { contentText } from '../timeline/rows'
import { OriginalText } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { observationOf, ownSummary, type ToolProps } from './tool-props'

export function TerminalTool({ event, outcome, state, action }: ToolProps<ActionByKind['TerminalAction']>) {
  const { t } = useTranslation()
  const observation = observationOf(outcome)
  const result = observationIs(observation, 'TerminalObservation') ? observation : null
  const live = useConversation((view) => (outcome === null ? view.view.outputs.get(event.id) : undefined))
  const raw = live?.text ?? contentText(observation?.content ?? [])
  const output = plainTerminalText(raw).trimEnd()
  const given = live?.styles ?? result?.metadata?.styles
  // If this code has changed the text, the positions of the colours are wrong.
  const styles = given && raw.startsWith(output) ? inCodeUnits(raw, given) : undefined
  const shown = readableText(t, output, 'output')
  const summary = ownSummary(event)
  const isWholeInTitle = summary === null && action.command.length <= 60 && !action.command.includes('\n')
  return (
    <ToolCard
      icon={<SquareTerminal aria-hidden />}
      title={
        summary ?? (
          <>
            {action.is_input && <span className="text-muted">{t('tool.terminal_input')}</span>}{' '}
            <span className="font-mono text-xs">{action.command || t('tool.terminal_check')}</span>
          </>
        )
      }
      status={
        <>
          {sessionOf(event) && <Badge>{sessionOf(event)}</Badge>}
          {result !== null && <ExitCode code={result.exit_code ?? null} />}
          {result === null && <ToolStatus state={state} since={event.timestamp} />}
        </>
      }
      state={hasFailed(result?.exit_code) ? 'failed' : state}
    >
      {!isWholeInTitle && <Command action={action} />}
      {output !== '' && <OutputBlock text={shown} styles={styles && moved(styles, output, shown)} />}
      <OriginalText text={output} shown={shown} />
      {observation !== null && output === '' && (
        <p className="px-3 py-1.5 text-xs text-muted">{t('tool.no_output')}</p>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

/**
 * Returns the styles after one piece of the text was replaced. The styles behind the piece get new positions.
 */
function moved(styles: readonly TextStyle[], before: string, after: string): readonly TextStyle[] {
  if (before === after) return styles
  const length = Math.min(before.length, after.length)
  let same = 0
  while (same < length && before[same] === after[same]) same += 1
  const by = after.length - before.length
  return styles.map(([start, end, code]) =>
    start > same ? [start + by, end + by, code] : [start, end, code],
  )
}

/**
 * Returns the name of the shell, if the agent has named one. The protocol has no field for the name, so it is
 * read from the arguments.
 */
function sessionOf(event: EventOf<'ActionEvent'>): string | null {
  return /"session":\s*"([\w.-]{1,32})"/.exec(event.tool_call?.arguments ?? '')?.[1] ?? null
}

function Command({ action }: { action: ActionByKind['TerminalAction'] }) {
  return (
    <pre className="overflow-x-auto border-b border-border px-3 py-2 font-mono text-xs leading-relaxed break-words whitespace-pre-wrap last:border-b-0">
      <span aria-hidden className="text-faint select-none">
        {action.is_input ? '> ' : '$ '}
      </span>
      {action.command}
    </pre>
  )
}

/**
 * The exit code of a command that had not ended at the time of the observation. Null has the same meaning.
 */
const NOT_ENDED = -1

function hasFailed(code: number | null | undefined): boolean {
  return (code ?? NOT_ENDED) > 0
}

function ExitCode({ code }: { code: number | null }) {
  const { t } = useTranslation()
  if ((code ?? NOT_ENDED) === NOT_ENDED) return <Badge tone="warning">{t('tool.still_running')}</Badge>
  return <Badge tone={code === 0 ? 'success' : 'danger'}>{t('tool.exit_code', { code })}</Badge>
}

import { SquareTerminal } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { observationIs, type ActionByKind } from '@/events/types'
import { Badge } from '@/ui/badge'
import { plainTerminalText } from '../ansi'
import { OutputBlock } from '../output-block'
import { Refusal, ToolStatus } from '../outcome'
import { contentText } from '../rows'
import { ToolCard } from '../tool-card'
import { observationOf, ownSummary, type ToolProps } from './tool-props'

export function TerminalTool({ event, outcome, state, action }: ToolProps<ActionByKind['TerminalAction']>) {
  const { t } = useTranslation()
  const observation = observationOf(outcome)
  const result = observationIs(observation, 'TerminalObservation') ? observation : null
  const output = plainTerminalText(contentText(observation?.content ?? [])).trimEnd()
  const summary = ownSummary(event)
  const isWholeInTitle = summary === null && action.command.length <= 60 && !action.command.includes('\n')
  return (
    <ToolCard
      icon={<SquareTerminal aria-hidden />}
      title={
        summary ?? <span className="font-mono text-xs">{action.command || t('tool.terminal_check')}</span>
      }
      status={
        <>
          {result?.timeout && <Badge tone="warning">{t('tool.timeout')}</Badge>}
          {result !== null && <ExitCode code={result.exit_code ?? null} />}
          {result === null && <ToolStatus state={state} since={event.timestamp} />}
        </>
      }
      state={result?.exit_code ? 'failed' : state}
    >
      {!isWholeInTitle && <Command action={action} />}
      {output !== '' && <OutputBlock text={output} />}
      {observation !== null && output === '' && (
        <p className="px-3 py-1.5 text-xs text-muted">{t('tool.no_output')}</p>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
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

/** -1 and null say that the command had not ended when the observation was made. */
function ExitCode({ code }: { code: number | null }) {
  const { t } = useTranslation()
  if (code === null || code === -1) return <Badge tone="warning">{t('tool.still_running')}</Badge>
  return <Badge tone={code === 0 ? 'success' : 'danger'}>{t('tool.exit_code', { code })}</Badge>
}

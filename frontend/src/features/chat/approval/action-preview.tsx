import { useTranslation } from 'react-i18next'
import { actionIs, type EventOf } from '@/events/wire/types'
import { CodeBlock } from '../text/code-block'
import { InlineDiff } from '../text/inline-diff'
import { cellCall } from '../tools/cell-call'
import { changedLines, fileCall, type FileCall } from '../tools/file-call'

/**
 * Shows the effect of a waiting action. Commands and paths are shown completely, so that the user can judge
 * them.
 */
export function ActionPreview(asked: Pick<EventOf<'ActionEvent'>, 'action' | 'tool_name'>) {
  const file = fileCall(asked.action)
  if (file !== null) return <FilePreview call={file} />
  const cell = cellCall(asked)
  if (cell !== null) return <CodeBlock text={cell.code} language="python" wraps />
  return (
    <pre className="mt-1.5 max-h-40 overflow-auto rounded-md border border-border bg-sunken px-3 py-2 font-mono text-xs wrap-anywhere whitespace-pre-wrap">
      {previewText(asked)}
    </pre>
  )
}

function FilePreview({ call }: { call: FileCall }) {
  const { t } = useTranslation()
  const lines = changedLines(call, null)
  return (
    <div className="mt-1.5 max-h-60 overflow-auto rounded-md border border-border bg-raised">
      <p className="bg-sunken px-3 py-2 text-xs wrap-anywhere">
        {t(`file.${call.command}`, { defaultValue: call.command })}{' '}
        <span className="font-mono">{call.path}</span>
      </p>
      {lines.length > 0 && <InlineDiff lines={lines} wraps />}
    </div>
  )
}

/** Returns the command or the patch. For other tools, returns the arguments of the call. */
function previewText({ action, tool_name }: Pick<EventOf<'ActionEvent'>, 'action' | 'tool_name'>): string {
  if (!action) return tool_name
  if (actionIs(action, 'TerminalAction')) return action.command
  if (actionIs(action, 'ApplyPatchAction')) return action.patch
  if (actionIs(action, 'MCPToolAction')) return callText(tool_name, action.data ?? {})
  const { kind: _, ...fields } = action
  return callText(tool_name, fields)
}

function callText(tool: string, fields: Record<string, unknown>): string {
  return `${tool} ${JSON.stringify(fields, null, 2)}`
}

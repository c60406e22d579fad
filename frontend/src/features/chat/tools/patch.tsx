import { FileDiff } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { ActionByKind } from '@/events/wire/types'
import { InlineDiff } from '../text/inline-diff'
import { RowPartStateScope } from '../timeline/row-state'
import { Refusal, ToolStatus } from './outcome'
import { contentText } from '../timeline/rows'
import { useShortPath } from '../text/short-path'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { filePatches, type FilePatch } from './file-call'
import { LineCounts } from './line-counts'
import { observationOf, type ToolProps } from './tool-props'

/**
 * A patch, with one diff for each file. If the patch has failed, shows the reason above the requested
 * changes.
 */
export function PatchTool({ event, outcome, state, action }: ToolProps<ActionByKind['ApplyPatchAction']>) {
  const { t } = useTranslation()
  const observation = observationOf(outcome)
  const files = filePatches(action.patch, observation)
  return (
    <ToolCard
      icon={<FileDiff aria-hidden />}
      title={t('tool.patch', { count: files.length })}
      status={
        <>
          {state === 'done' && <LineCounts lines={files.flatMap((file) => file.lines)} />}
          <ToolStatus state={state} since={event.timestamp} />
        </>
      }
      state={state}
    >
      {state === 'failed' && observation !== null && (
        <ReadableBlock text={contentText(observation.content)} kind="error" keep="start" isError />
      )}
      {files.map((file) => (
        <RowPartStateScope key={file.path} name={file.path}>
          <PatchedFile file={file} />
        </RowPartStateScope>
      ))}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

function PatchedFile({ file }: { file: FilePatch }) {
  const { t } = useTranslation()
  const path = useShortPath(file.path)
  const movedTo = useShortPath(file.movedTo ?? '')
  return (
    <section className="border-b border-border last:border-b-0">
      <h3 className="flex items-baseline gap-2 px-3 py-1.5 text-xs">
        <span className="text-muted">{t(`tool.patched.${file.type}`)}</span>{' '}
        <span className="min-w-0 truncate font-mono" title={file.path}>
          {path}
          {movedTo !== '' && ` → ${movedTo}`}
        </span>
      </h3>
      {file.lines.length > 0 && <InlineDiff lines={file.lines} />}
    </section>
  )
}

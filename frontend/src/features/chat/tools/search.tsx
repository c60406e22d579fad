import { FileSearch, Search } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { actionIs, observationIs, type ActionByKind, type Observation } from '@/events/wire/types'
import { OutputBlock } from '../text/output-block'
import { Refusal, ToolStatus } from './outcome'
import { contentText } from '../timeline/rows'
import { useShortPath, useShortPaths } from '../text/short-path'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { observationOf, type ToolProps } from './tool-props'

/** A search by name (glob) or by content (grep): the pattern, the place, and the found files. */
export function SearchTool({
  event,
  outcome,
  state,
  action,
}: ToolProps<ActionByKind['GlobAction'] | ActionByKind['GrepAction']>) {
  const { t } = useTranslation()
  const isGrep = actionIs(action, 'GrepAction')
  const Icon = isGrep ? Search : FileSearch
  const observation = observationOf(outcome)
  const found = state === 'done' ? foundFiles(observation) : null
  const shown = useShortPaths(found?.files ?? [])
  return (
    <ToolCard
      icon={<Icon aria-hidden />}
      title={
        <>
          <span className="text-muted">{t(isGrep ? 'tool.grep' : 'tool.glob')}</span>{' '}
          <span className="font-mono text-xs">{action.pattern}</span>{' '}
          <Where path={action.path ?? null} include={(isGrep && action.include) || null} />
        </>
      }
      status={
        <>
          {found !== null &&
            t(found.isCut ? 'tool.found_newest' : 'tool.found', { count: found.files.length })}
          <ToolStatus state={state} since={event.timestamp} />
        </>
      }
      state={state}
      isOpenByDefault={state === 'failed'}
    >
      {found !== null && shown.length > 0 && <OutputBlock text={shown.join('\n')} keep="start" />}
      {found !== null && shown.length === 0 && (
        <p className="px-3 py-1.5 text-xs text-muted">{t('tool.nothing_found')}</p>
      )}
      {found === null && observation !== null && (
        <ReadableBlock
          text={contentText(observation.content)}
          kind={state === 'failed' ? 'error' : 'answer'}
          keep="start"
          isError={state === 'failed'}
        />
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

function Where({ path, include }: { path: string | null; include: string | null }) {
  const { t } = useTranslation()
  const shownPath = useShortPath(path ?? '')
  return (
    <span className="text-muted">
      {path && (
        <>
          {t('tool.search_in')} <span className="font-mono text-xs">{shownPath}</span>{' '}
        </>
      )}
      {include && <span className="font-mono text-xs">({include})</span>}
    </span>
  )
}

function foundFiles(observation: Observation | null): { files: string[]; isCut: boolean } | null {
  if (observationIs(observation, 'GlobObservation'))
    return { files: observation.files, isCut: observation.truncated === true }
  if (observationIs(observation, 'GrepObservation'))
    return { files: observation.matches, isCut: observation.truncated === true }
  return null
}

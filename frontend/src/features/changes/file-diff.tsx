import { useMemo, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Decoration, Diff, Hunk, type HunkData } from 'react-diff-view'
import 'react-diff-view/style/index.css'
import { Button } from '@/ui/form/button'
import './diff.css'
import { diffTokens } from './highlight'
import type { FilePatch } from './patch'

const LARGE_LINES = 1_500
const COLOURED_LINES = 3_000

export interface FileDiffProps {
  file: FilePatch
  viewType: 'unified' | 'split'
}

/**
 * The diff of one file. Its code is loaded separately from the page, because the chat works without diffs and
 * syntax colours.
 */
export function FileDiff({ file, viewType }: FileDiffProps) {
  const { t } = useTranslation()
  const [showsLarge, setShowsLarge] = useState(false)
  const lines = file.additions + file.deletions
  if (file.isBinary) return <Remark>{t('changes.binary')}</Remark>
  if (file.diff.hunks.length === 0) return <Remark>{t(withoutHunks(file.status))}</Remark>
  if (lines > LARGE_LINES && !showsLarge) {
    return (
      <Remark>
        {t('changes.large', { count: lines })}{' '}
        <Button size="sm" onClick={() => setShowsLarge(true)}>
          {t('changes.show_large')}
        </Button>
      </Remark>
    )
  }
  return <Hunks file={file} viewType={viewType} />
}

function withoutHunks(status: FilePatch['status']) {
  return status === 'ADDED' || status === 'DELETED' ? 'changes.empty_file' : 'changes.no_text_change'
}

function Hunks({ file, viewType }: FileDiffProps) {
  const { hunks, type } = file.diff
  const lines = file.additions + file.deletions
  const lastLine = hunks.at(-1)?.newStart ?? 0
  const isColoured = lines <= COLOURED_LINES && lastLine < 20 * COLOURED_LINES
  const tokens = useMemo(
    () => (isColoured ? diffTokens(hunks, file.path) : null),
    [isColoured, hunks, file.path],
  )
  return (
    <div className="overflow-x-auto">
      <Diff viewType={viewType} diffType={type} hunks={hunks} tokens={tokens}>
        {(all: HunkData[]) =>
          all.flatMap((hunk) => [
            <Decoration key={`head-${hunk.content}`}>
              <span className="block bg-sunken px-3 py-0.5 font-mono text-2xs text-muted">
                {hunk.content}
              </span>
            </Decoration>,
            <Hunk key={hunk.content} hunk={hunk} />,
          ])
        }
      </Diff>
    </div>
  )
}

function Remark({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-3 px-3 py-3 text-sm text-muted">{children}</div>
}

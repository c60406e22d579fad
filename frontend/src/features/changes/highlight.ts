/** Syntax colours for diffs. react-diff-view gets them as its refractor. */
import { markEdits, tokenize, type HunkData, type HunkTokens } from 'react-diff-view'
import { languageOfPath, syntaxTree } from '@/lib/text/syntax'

/**
 * Returns coloured tokens, in which the changed parts of each line are marked. For unknown languages, the
 * tokens have no colours.
 */
export function diffTokens(hunks: HunkData[], path: string): HunkTokens {
  const language = languageOfPath(path)
  const enhancers = [markEdits(hunks.map(evenBlocks), { type: 'line' })]
  if (language === undefined) return tokenize(hunks, { enhancers })
  return tokenize(hunks, {
    highlight: true,
    refractor: { highlight: syntaxTree as never },
    language,
    enhancers,
  })
}

/**
 * Returns the hunk with only those blocks that remove as many lines as they add. In these blocks, each added
 * line is a new version of a removed line, so the changed parts of the line can be marked.
 */
function evenBlocks(hunk: HunkData): HunkData {
  const blocks: HunkData['changes'][] = []
  for (const change of hunk.changes) {
    const last = blocks.at(-1)
    if (last && (last[0]?.type === 'normal') === (change.type === 'normal')) last.push(change)
    else blocks.push([change])
  }
  const isEven = (block: HunkData['changes']) =>
    block.filter((change) => change.type === 'insert').length ===
    block.filter((change) => change.type === 'delete').length
  return { ...hunk, changes: blocks.filter(isEven).flat() }
}

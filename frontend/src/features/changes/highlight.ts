/** Syntax colours for diffs, given to react-diff-view as its refractor. */
import { markEdits, tokenize, type HunkData, type HunkTokens } from 'react-diff-view'
import { languageOfPath, syntaxTree } from '@/lib/text/syntax'

/** Coloured tokens with the changed parts of each line marked; plain ones for languages we do not know. */
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

/** Only where as many lines came as went are they versions of each other, with changed parts worth marking. */
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

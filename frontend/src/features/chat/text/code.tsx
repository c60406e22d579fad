import { useEffect, useState, type ReactNode } from 'react'
import type * as syntaxModule from '@/lib/text/syntax'
import type { CodeBlockProps } from './code-block'

/** Longer code stays plain: colouring it again with every piece that streams in would take too long. */
const COLOURED_CHARACTERS = 20_000

type Syntax = typeof syntaxModule
let loadedSyntax: Syntax | null = null

/** Code in colour, once the highlighter, which is not part of the first load, is there. */
export function Code({ text, language }: Pick<CodeBlockProps, 'text' | 'language'>) {
  const syntax = useSyntax(language !== null && text.length <= COLOURED_CHARACTERS)
  const isColoured = syntax !== null && language !== null && syntax.knowsLanguage(language)
  return <code>{isColoured ? toSpans(syntax.syntaxTree(text, language)) : text}</code>
}

function useSyntax(isWanted: boolean): Syntax | null {
  const [syntax, setSyntax] = useState(loadedSyntax)
  useEffect(() => {
    if (!isWanted || syntax !== null) return
    let isGone = false
    import('@/lib/text/syntax').then(
      (module) => {
        loadedSyntax = module
        if (!isGone) setSyntax(module)
      },
      () => {}, // without colours the code is still there
    )
    return () => {
      isGone = true
    }
  }, [isWanted, syntax])
  return isWanted ? syntax : null
}

function toSpans(nodes: readonly syntaxModule.SyntaxNode[]): ReactNode {
  return nodes.map((node, index) =>
    node.type === 'text' ? (
      node.value
    ) : (
      <span key={index} className={node.properties?.className.join(' ')}>
        {toSpans(node.children ?? [])}
      </span>
    ),
  )
}

import { useEffect, useState, type ReactNode } from 'react'
import type * as syntaxModule from '@/lib/text/syntax'

const COLOURED_CHARACTERS = 20_000

export interface HighlightedCodeProps {
  text: string
  language: string | null
}

type Syntax = typeof syntaxModule
let loadedSyntax: Syntax | null = null

/**
 * Code with colours. The highlighter is loaded when it is first needed. Until then, the code has no colours.
 * Long code has none: colouring it again with every streamed piece would take too long.
 */
export function HighlightedCode({ text, language }: HighlightedCodeProps) {
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
      () => {}, // if the highlighter cannot be loaded, the code is shown without colours
    )
    return () => {
      isGone = true
    }
  }, [isWanted, syntax])
  return isWanted ? syntax : null
}

/** Renders code that `syntaxTree` has coloured. */
export function toSpans(nodes: readonly syntaxModule.SyntaxNode[]): ReactNode {
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

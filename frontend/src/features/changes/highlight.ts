/** Syntax colours for diffs: highlight.js' core with the common languages, given to react-diff-view as its refractor. */
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import css from 'highlight.js/lib/languages/css'
import go from 'highlight.js/lib/languages/go'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import markdown from 'highlight.js/lib/languages/markdown'
import python from 'highlight.js/lib/languages/python'
import rust from 'highlight.js/lib/languages/rust'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { markEdits, tokenize, type HunkData, type HunkTokens } from 'react-diff-view'

const LANGUAGES = { bash, css, go, java, javascript, json, markdown, python, rust, typescript, xml, yaml }
Object.entries(LANGUAGES).forEach(([name, language]) => hljs.registerLanguage(name, language))

const BY_EXTENSION: Record<string, keyof typeof LANGUAGES> = {
  sh: 'bash',
  css: 'css',
  go: 'go',
  java: 'java',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  json: 'json',
  md: 'markdown',
  py: 'python',
  pyi: 'python',
  rs: 'rust',
  ts: 'typescript',
  tsx: 'typescript',
  html: 'xml',
  svg: 'xml',
  xml: 'xml',
  yaml: 'yaml',
  yml: 'yaml',
}

/** Coloured tokens with the changed parts of each line marked; plain ones for languages we do not know. */
export function diffTokens(hunks: HunkData[], path: string): HunkTokens {
  const language = BY_EXTENSION[path.split('.').pop()?.toLowerCase() ?? '']
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

interface SyntaxNode {
  type: 'element' | 'text'
  value?: string
  tagName?: string
  properties?: { className: string[] }
  children?: SyntaxNode[]
}

function syntaxTree(text: string, language: string): SyntaxNode[] {
  const template = document.createElement('template')
  template.innerHTML = hljs.highlight(text, { language, ignoreIllegals: true }).value // escaped by highlight.js
  return toNodes(template.content)
}

function toNodes(parent: Node): SyntaxNode[] {
  return Array.from(parent.childNodes, (node) =>
    node instanceof Element
      ? {
          type: 'element',
          tagName: 'span',
          properties: { className: [...node.classList] },
          children: toNodes(node),
        }
      : { type: 'text', value: node.textContent ?? '' },
  )
}

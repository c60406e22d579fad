/**
 * Syntax highlighting: the core of highlight.js with the common languages. This module is loaded only when
 * code is shown.
 */
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

/** Returns the language of a file by the end of its name. Returns undefined for an unknown language. */
export function languageOfPath(path: string): string | undefined {
  return BY_EXTENSION[path.split('.').pop()?.toLowerCase() ?? '']
}

export function knowsLanguage(language: string): boolean {
  return hljs.getLanguage(language) !== undefined
}

export interface SyntaxNode {
  type: 'element' | 'text'
  value?: string
  tagName?: string
  properties?: { className: string[] }
  children?: SyntaxNode[]
}

/**
 * Returns `text` as nested spans with hljs-* classes. `language` is a language that is registered above, or
 * its alias.
 */
export function syntaxTree(text: string, language: string): SyntaxNode[] {
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

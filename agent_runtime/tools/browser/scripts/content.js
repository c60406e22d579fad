// The page as Markdown: what a person could read, not what is hidden.
(limits) => {
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'canvas', 'iframe', 'object',
    'select', 'datalist', 'head', 'video', 'audio'])
  const BLOCKS = new Set(['address', 'article', 'aside', 'blockquote', 'details', 'dialog', 'dd', 'div', 'dl',
    'dt', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'header', 'hgroup', 'main', 'nav', 'ol', 'p',
    'section', 'summary', 'table', 'ul'])
  let out = ''
  let visited = 0
  const isFull = () => out.length > limits.chars || visited > limits.nodes
  const emit = (text) => { out += text }
  const breakLine = (count) => {
    const has = /\n*$/.exec(out.slice(-3))[0].length
    if (out && has < count) emit('\n'.repeat(count - has))
  }
  const inline = (text) => {
    const words = text.replace(/\s+/g, ' ')
    emit(/(^|\s)$/.test(out.slice(-1)) || out === '' ? words.trimStart() : words)
  }
  const around = (mark, node, context) => {
    const before = out.length
    inline(' ')
    const start = out.length
    children(node, context)
    const inner = out.slice(start).trim()
    out = inner ? out.slice(0, start) + mark + inner + mark : out.slice(0, before)
  }
  const children = (node, context) => {
    const root = node.shadowRoot ?? node
    const nodes = node.localName === 'slot' ? node.assignedNodes() : []
    for (const child of nodes.length ? nodes : root.childNodes) {
      if (isFull()) return
      visit(child, context)
    }
  }
  const table = (node) => {
    breakLine(2)
    const cells = (row) => [...row.cells].map((cell) => {
      const kept = out
      out = ''
      children(cell, {})
      const text = out.replace(/\s+/g, ' ').replaceAll('|', '\\|').trim()
      out = kept
      return text
    })
    for (const [index, row] of [...node.rows].entries()) {
      if (isFull()) return
      const texts = cells(row)
      emit(`| ${texts.join(' | ')} |\n`)
      if (index === 0) emit(`|${' --- |'.repeat(texts.length)}\n`)
    }
    breakLine(2)
  }
  const visit = (node, context) => {
    visited += 1
    if (node.nodeType === Node.TEXT_NODE) return inline(node.data)
    if (node.nodeType !== Node.ELEMENT_NODE) return
    const name = node.localName
    if (SKIPPED.has(name)) return
    // What has no box may still have children that show.
    if (getComputedStyle(node).display !== 'contents' && !node.checkVisibility({ visibilityProperty: true })) return
    const heading = /^h([1-6])$/.exec(name)
    if (heading) {
      breakLine(2)
      emit('#'.repeat(Number(heading[1])) + ' ')
      children(node, context)
      return breakLine(2)
    }
    switch (name) {
      case 'br': return emit('\n')
      case 'hr': breakLine(2); emit('---'); return breakLine(2)
      case 'img': return node.alt.trim() ? inline(` [image: ${node.alt.trim()}] `) : undefined
      case 'input': case 'textarea': return
      case 'b': case 'strong': return around('**', node, context)
      case 'i': case 'em': return around('*', node, context)
      case 'code': case 'kbd': case 'samp': return around('`', node, context)
      case 'pre':
        breakLine(2)
        emit('```\n' + node.innerText.slice(0, limits.chars).trimEnd() + '\n```')
        return breakLine(2)
      case 'a': {
        const start = out.length
        children(node, context)
        const text = out.slice(start).trim()
        if (limits.links && text && /^https?:/.test(node.href ?? '')) {
          const space = /^\s/.test(out.slice(start)) ? ' ' : ''
          out = `${out.slice(0, start)}${space}[${text.replace(/\s+/g, ' ')}](${node.href})`
        }
        return
      }
      case 'table':
        if (!node.querySelector('table') && node.rows.length) return table(node)
        break
      case 'li': {
        breakLine(1)
        const depth = context.depth ?? 0
        const number = node.parentElement?.localName === 'ol' ? `${[...node.parentElement.children].indexOf(node) + 1}.` : '-'
        emit('  '.repeat(depth) + number + ' ')
        children(node, { ...context, depth: depth + 1 })
        return breakLine(1)
      }
    }
    const isBlock = BLOCKS.has(name)
    const gap = context.depth ? 1 : ['p', 'blockquote', 'ul', 'ol', 'dl'].includes(name) ? 2 : 1
    if (isBlock) breakLine(gap)
    children(node, context)
    if (isBlock) breakLine(gap)
  }
  if (document.body) children(document.body, {})
  return { text: out.slice(0, limits.chars).trim(), is_cut: isFull() }
}

// Where to press so that this element gets it, as seen in its own frame; or why it would not.
function () {
  if (!this.isConnected) return { problem: 'gone' }
  if (this.disabled || this.getAttribute('aria-disabled') === 'true') return { problem: 'disabled' }
  this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
  const shown = ({ width, height }) => width > 0 && height > 0
  const rect = [...this.getClientRects()].find(shown)
  if (!rect) return { problem: 'hidden' }
  const x = (Math.max(rect.left, 0) + Math.min(rect.right, innerWidth)) / 2
  const y = (Math.max(rect.top, 0) + Math.min(rect.bottom, innerHeight)) / 2
  let hit = document.elementFromPoint(x, y)
  for (let inner = hit; inner?.shadowRoot; ) {
    inner = inner.shadowRoot.elementFromPoint(x, y)
    if (!inner || inner === hit) break
    hit = inner
  }
  const belongs = (node) => {
    for (let each = node; each; each = each.parentNode ?? each.host) if (each === this) return true
    return node?.closest('label')?.control === this
  }
  const href = this.localName === 'a' ? this.href : ''
  if (belongs(hit)) return { x, y, href }
  if (!hit) return { problem: 'hidden' }
  const words = (hit.innerText ?? '').replace(/\s+/g, ' ').trim().slice(0, 80)
  return { problem: 'covered', cover: `<${hit.localName}${hit.id ? ` id="${hit.id.slice(0, 40)}"` : ''}> ${words}` }
}

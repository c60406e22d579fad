// Makes this field ready for typing, or fills it where typing would not do. How it went: `type` (what is typed
// now takes the place of what stands there), `done`, `file`, or a problem.
function (text) {
  if (!this.isConnected) return { problem: 'gone' }
  if (this.disabled || this.readOnly) return { problem: this.disabled ? 'disabled' : 'read-only' }
  const changed = () => {
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
    this.dispatchEvent(new Event('change', { bubbles: true }))
  }
  if (this.localName === 'select') {
    const wanted = text.trim()
    const option = [...this.options].find(({ label, value }) => label.trim() === wanted || value === wanted)
    if (!option) return { problem: 'no such option' }
    this.value = option.value
    option.selected = true
    changed()
    return { how: 'done' }
  }
  if (this.localName === 'input') {
    if (this.type === 'file') return { how: 'file' }
    if (['checkbox', 'radio', 'submit', 'button', 'reset', 'image'].includes(this.type))
      return { problem: 'not a text field' }
    if (['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'].includes(this.type)) {
      this.value = text.trim()
      if (this.value === '' && text.trim() !== '') return { problem: 'not of its form', form: this.type }
      changed()
      return { how: 'done' }
    }
  } else if (this.localName !== 'textarea' && !this.isContentEditable) return { problem: 'not a text field' }
  this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
  this.focus()
  if (this.isContentEditable && this.localName !== 'textarea' && this.localName !== 'input') {
    const range = document.createRange()
    range.selectNodeContents(this)
    getSelection().removeAllRanges()
    getSelection().addRange(range)
  } else this.select()
  return { how: 'type', is_one_line: this.localName === 'input' }
}

// What a person could click or fill in, in the order of the page. Leaves the elements themselves in
// `slipwayElements` of this world, which the page's own scripts cannot see.
(limits) => {
  const ROLES = ['button', 'checkbox', 'combobox', 'gridcell', 'link', 'listbox', 'menuitem',
    'menuitemcheckbox', 'menuitemradio', 'option', 'radio', 'searchbox', 'slider', 'spinbutton', 'switch',
    'tab', 'textbox', 'treeitem']
  const INTERACTIVE = ['a[href]', 'button', 'input:not([type=hidden])', 'select', 'textarea', 'summary',
    '[contenteditable=""]', '[contenteditable="true"]', '[contenteditable="plaintext-only"]', '[onclick]',
    '[tabindex]:not([tabindex^="-"])', ...ROLES.map((role) => `[role=${role}]`)].join(',')

  const plain = (text, max) => (typeof text === 'string' ? text : '').slice(0, max * 4).replace(/\s+/g, ' ').trim().slice(0, max)
  const isFile = (node) => node.localName === 'input' && node.type === 'file'
  const isShown = (node) =>
    isFile(node) ||
    (node.checkVisibility({ visibilityProperty: true }) &&
      [...node.getClientRects()].some(({ width, height }) => width > 0 && height > 0))
  const hasHand = (node) => getComputedStyle(node).cursor === 'pointer'
  // A hand that is inherited belongs to an element further out.
  const isHand = (node) => hasHand(node) && !(node.parentElement && hasHand(node.parentElement))

  const nameOf = (node) => {
    const referred = (node.getAttribute('aria-labelledby') ?? '')
      .split(/\s+/)
      .map((id) => id && node.getRootNode().getElementById?.(id)?.textContent)
      .filter(Boolean)
      .join(' ')
    const isField = ['input', 'select', 'textarea'].includes(node.localName)
    const isPress = node.localName === 'input' && ['submit', 'button', 'reset', 'image'].includes(node.type)
    const candidates = [
      () => referred,
      () => node.getAttribute('aria-label'),
      () => [...(node.labels ?? [])].map((label) => label.innerText).join(' '),
      () => isPress && (node.value || node.alt || node.type),
      () => !isField && (node.innerText ?? node.textContent),
      () => node.querySelector?.('img[alt]')?.alt,
      () => node.title,
      () => node.placeholder,
      () => node.querySelector?.('svg title')?.textContent,
      () => node.name,
      () => node.id,
    ]
    for (const candidate of candidates) {
      const name = plain(candidate(), 100)
      if (name) return name
    }
    return ''
  }

  const kindOf = (node) => {
    const role = node.getAttribute('role')
    if (role) return plain(role, 30)
    if (node.localName === 'a') return 'link'
    if (node.localName === 'input') return ['text', ''].includes(node.type) ? 'textbox' : node.type
    if (node.localName === 'textarea' || node.isContentEditable) return 'textbox'
    return node.localName
  }

  const describe = (node) => {
    const { top, bottom } = node.getBoundingClientRect()
    const field = { kind: kindOf(node), name: nameOf(node), where: '' }
    if (bottom <= 0) field.where = 'above'
    if (top >= innerHeight) field.where = 'below'
    if (node.localName === 'a') field.href = plain(node.href, 300)
    if (node.localName === 'select') {
      field.options = [...node.options].slice(0, 20).map((option) => plain(option.label, 60))
      field.more_options = Math.max(0, node.options.length - 20)
      field.value = plain([...node.selectedOptions].map((option) => option.label).join(', '), 200)
    } else if (node.localName === 'textarea' || (node.localName === 'input' && !['checkbox', 'radio',
      'submit', 'button', 'reset', 'image'].includes(node.type))) {
      field.value = node.type === 'password' ? '•'.repeat(Math.min(node.value.length, 8)) : plain(node.value, 200)
      field.placeholder = plain(node.placeholder, 100)
    } else if (node.isContentEditable) field.value = plain(node.innerText, 200)
    field.flags = [
      node.checked || node.getAttribute('aria-checked') === 'true' ? 'checked' : '',
      node.getAttribute('aria-selected') === 'true' ? 'selected' : '',
      node.getAttribute('aria-expanded') === 'true' ? 'expanded' : '',
      node.getAttribute('aria-expanded') === 'false' ? 'collapsed' : '',
      node.disabled || node.getAttribute('aria-disabled') === 'true' ? 'disabled' : '',
      node.readOnly ? 'read-only' : '',
      node.required ? 'required' : '',
    ].filter(Boolean)
    return field
  }

  let visited = 0
  const found = []
  const walk = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT)
    for (let node = walker.nextNode(); node && visited < limits.nodes; node = walker.nextNode()) {
      visited += 1
      const isWanted = node.matches(INTERACTIVE) || (visited < limits.styled_nodes && isHand(node))
      if (isWanted && isShown(node)) found.push(node)
      if (node.shadowRoot) walk(node.shadowRoot)
    }
  }
  walk(document)

  const nearView = (node) => {
    const { top, bottom } = node.getBoundingClientRect()
    return bottom > -innerHeight && top < 2 * innerHeight
  }
  const isTooMuch = found.length > limits.elements
  const listed = (isTooMuch ? found.filter(nearView) : found).slice(0, limits.elements)
  globalThis.slipwayElements = listed
  return {
    elements: listed.map(describe),
    left_out: found.length - listed.length,
    is_cut: visited >= limits.nodes,
    scroll: { top: Math.round(scrollY), shown: innerHeight,
      height: Math.round(document.documentElement?.scrollHeight ?? 0) },
    status: performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0,
  }
}

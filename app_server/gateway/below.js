// Runs first in each page that is seen below a path of Slipway. The page was written for the root of a host:
// what it asks there is asked below the path.
;((prefix) => {
  const ATTRIBUTES = new Set(['src', 'href', 'action', 'formaction', 'poster'])
  const CSS_URL = /(url\(\s*["']?)\/(?!\/|preview\/)/gi

  function moved(value) {
    let url
    try {
      url = new URL(value, document.baseURI)
    } catch {
      return value
    }
    const isHere = url.host === location.host && /^(https?|wss?):$/.test(url.protocol)
    if (!isHere || url.pathname.startsWith('/preview/')) return value
    url.pathname = prefix + url.pathname
    return url.href
  }

  const { fetch: ask, history, XMLHttpRequest: Exchange } = window
  window.fetch = (input, init) =>
    input instanceof Request
      ? ask(moved(input.url) === input.url ? input : new Request(moved(input.url), input), init)
      : ask(moved(input), init)
  const { open } = Exchange.prototype
  Exchange.prototype.open = function (method, url, ...rest) {
    return open.call(this, method, moved(url), ...rest)
  }
  for (const name of ['WebSocket', 'EventSource']) {
    window[name] = class extends window[name] {
      constructor(url, ...rest) {
        super(moved(url), ...rest)
      }
    }
  }
  for (const name of ['pushState', 'replaceState']) {
    const change = history[name]
    history[name] = function (state, unused, url) {
      return change.call(this, state, unused, url == null ? url : moved(url))
    }
  }

  const { setAttribute } = Element.prototype
  Element.prototype.setAttribute = function (name, value) {
    const isAddress = ATTRIBUTES.has(String(name).toLowerCase()) && String(value).startsWith('/')
    return setAttribute.call(this, name, isAddress ? moved(value) : value)
  }
  for (const [name, attribute] of [
    ['HTMLAnchorElement', 'href'],
    ['HTMLFormElement', 'action'],
    ['HTMLIFrameElement', 'src'],
    ['HTMLImageElement', 'src'],
    ['HTMLLinkElement', 'href'],
    ['HTMLMediaElement', 'src'],
    ['HTMLScriptElement', 'src'],
    ['HTMLSourceElement', 'src'],
  ]) {
    const own = Object.getOwnPropertyDescriptor(window[name].prototype, attribute)
    Object.defineProperty(window[name].prototype, attribute, {
      ...own,
      set(value) {
        own.set.call(this, moved(value))
      },
    })
  }
  function correct(element) {
    for (const name of ATTRIBUTES) {
      const value = element.getAttribute(name)
      if (value?.startsWith('/') && moved(value) !== value) element.setAttribute(name, value)
    }
    if (element.localName === 'style' && element.textContent.search(CSS_URL) >= 0)
      element.textContent = element.textContent.replace(CSS_URL, `$1${prefix}/`)
  }
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes)
      for (const node of [target, ...addedNodes])
        if (node instanceof Element) for (const one of [node, ...node.querySelectorAll('*')]) correct(one)
  }).observe(document, { childList: true, subtree: true })
})

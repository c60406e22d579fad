// Runs first in a framed page and in one below a path of Slipway. Browsers refuse storage to an opaque origin, and
// private windows to the frames of other sites. What such a page keeps ends with it.
;(() => {
  for (const name of ['localStorage', 'sessionStorage']) {
    try {
      window[name].length
    } catch {
      Object.defineProperty(window, name, { value: storage() })
    }
  }

  function storage() {
    const items = new Map()
    const methods = {
      getItem: (key) => items.get(String(key)) ?? null,
      setItem: (key, value) => void items.set(String(key), String(value)),
      removeItem: (key) => void items.delete(String(key)),
      clear: () => items.clear(),
      key: (index) => [...items.keys()][index] ?? null,
    }
    return new Proxy(methods, {
      get: (target, key) =>
        key === 'length' ? items.size : (target[key] ?? (typeof key === 'string' ? items.get(key) : undefined)),
      set: (_target, key, value) => (items.set(String(key), String(value)), true),
      deleteProperty: (_target, key) => (items.delete(String(key)), true),
      has: (_target, key) => items.has(String(key)),
      ownKeys: () => [...items.keys()],
      getOwnPropertyDescriptor: (_target, key) =>
        items.has(key) ? { value: items.get(key), writable: true, enumerable: true, configurable: true } : undefined,
    })
  }
})()

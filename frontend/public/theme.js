// This file is not part of the bundle, because it must run before the first paint. See
// src/lib/browser/theme.ts.
;(function () {
  try {
    var theme = localStorage.getItem('slipway.theme')
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  } catch {
    // Storage is blocked, so the theme of the system applies.
  }
})()

// Kept outside the bundle: it must run before the first paint. See src/lib/browser/theme.ts.
;(function () {
  try {
    var theme = localStorage.getItem('slipway.theme')
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  } catch {
    // Storage is blocked: the system's theme applies.
  }
})()

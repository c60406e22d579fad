// This file is not part of the bundle, because it must work when the bundle did not load. Browsers cancel
// requests when a network of their computer appears or disappears. The networks of sandboxes do this. If a
// script or a style sheet did not load, the page would be empty. So this script reloads the page a few times,
// with a longer wait each time.
;(function () {
  var COUNTER = 'slipway.reloads'
  var MOST = 5
  var FIRST_WAIT_MS = 250
  var missing = false

  function reloads() {
    try {
      return Number(sessionStorage.getItem(COUNTER)) || 0
    } catch {
      return MOST // Storage is blocked, so the reloads cannot be counted.
    }
  }

  // Returns whether the number is stored. The storage may be full.
  function store(reloads) {
    try {
      sessionStorage.setItem(COUNTER, String(reloads))
      return true
    } catch {
      return false
    }
  }

  function isNeeded(element) {
    return (
      element instanceof HTMLScriptElement ||
      (element instanceof HTMLLinkElement && element.rel === 'stylesheet')
    )
  }

  function giveUp() {
    var text = document.createElement('p')
    text.setAttribute('role', 'alert')
    text.style.cssText = 'font:16px system-ui,sans-serif;max-width:40rem;margin:20vh auto;padding:0 1rem'
    text.textContent =
      'A part of Slipway did not arrive. Check that the server is running and that nothing in between holds it back, then reload this page.'
    document.body.replaceChildren(text)
  }

  function onError(event) {
    if (missing || !isNeeded(event.target)) return
    // When the page already runs, the page itself handles files that did not load.
    if (document.getElementById('root')?.hasChildNodes()) return
    missing = true
    var before = reloads()
    if (before >= MOST || !store(before + 1)) {
      giveUp()
      return
    }
    setTimeout(
      function () {
        location.reload()
      },
      FIRST_WAIT_MS * 2 ** before,
    )
  }

  window.addEventListener('error', onError, true)
  window.addEventListener('load', function () {
    if (missing) return
    try {
      sessionStorage.removeItem(COUNTER)
    } catch {
      // Storage is blocked, so there is no counter to remove.
    }
  })
})()

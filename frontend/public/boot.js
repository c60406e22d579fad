// Kept outside the bundle: it is there when the bundle is not.
// Browsers drop requests when a network of their machine comes or goes, as those of sandboxes do. A script or
// style sheet that did not arrive would leave an empty page: it is asked for again, a few times, ever later.
;(function () {
  var COUNTER = 'slipway.reloads'
  var MOST = 5
  var FIRST_WAIT_MS = 250
  var missing = false

  function reloads() {
    try {
      return Number(sessionStorage.getItem(COUNTER)) || 0
    } catch {
      return MOST // Storage is blocked: nothing would end it.
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
    // What fails later, in a running page, is the page's own to mend.
    if (document.getElementById('root')?.hasChildNodes()) return
    missing = true
    var before = reloads()
    if (before >= MOST) {
      giveUp()
      return
    }
    sessionStorage.setItem(COUNTER, String(before + 1))
    setTimeout(function () {
      location.reload()
    }, FIRST_WAIT_MS * 2 ** before)
  }

  window.addEventListener('error', onError, true)
  window.addEventListener('load', function () {
    if (missing) return
    try {
      sessionStorage.removeItem(COUNTER)
    } catch {
      // Storage is blocked: there is nothing to take back.
    }
  })
})()

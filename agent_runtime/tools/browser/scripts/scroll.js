// Scrolls the page, or else what fills most of it; where it stands then.
(distance) => {
  const page = document.scrollingElement ?? document.documentElement
  const fills = (node) => node.scrollHeight > node.clientHeight + 1 && node.clientHeight > innerHeight / 2 &&
    ['auto', 'scroll'].includes(getComputedStyle(node).overflowY)
  let area = page
  if (page.scrollHeight <= innerHeight + 1)
    for (let node = document.elementFromPoint(innerWidth / 2, innerHeight / 2); node; node = node.parentElement)
      if (fills(node)) { area = node; break }
  area.scrollBy({ top: distance, behavior: 'instant' })
  const shown = area === page ? innerHeight : area.clientHeight
  return { top: Math.round(area.scrollTop), shown, height: Math.round(area.scrollHeight) }
}

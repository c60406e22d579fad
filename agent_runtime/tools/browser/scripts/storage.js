// What the frame's origin keeps; null where it may keep nothing.
() => {
  try {
    return { origin, localStorage: Object.entries({ ...localStorage }).map(([name, value]) => ({ name, value })) }
  } catch {
    return null
  }
}
